// What compiled snippets have in common: a type of Python objects that run a statement.
//
// A unit includes this file, makes its statements, and names their constructors in a table of
// `opperf::Constructor`s for `OPPERF_UNIT`.
#pragma once

// Python requires it for sizes of strings.
#define PY_SSIZE_T_CLEAN

#include <torch/csrc/autograd/python_variable.h>
#include <torch/script.h>
#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace opperf {

class Statement {
 public:
  virtual ~Statement() = default;
  virtual void run() = 0;
  virtual void loop(std::int64_t count) = 0;
  // The result of the last run, of a statement with a backward pass.
  at::Tensor result;
};

template <class Work>
class Forward final : public Statement {
 public:
  explicit Forward(Work work) : work_(std::move(work)) {}
  void run() override { work_(); }
  void loop(std::int64_t count) override {
    for (std::int64_t i = 0; i < count; ++i) work_();
  }

 private:
  Work work_;
};

template <class Work>
class Differentiable final : public Statement {
 public:
  explicit Differentiable(Work work) : work_(std::move(work)) {}
  void run() override { result = work_(); }
  void loop(std::int64_t count) override {
    for (std::int64_t i = 0; i < count; ++i) result = work_();
  }

 private:
  Work work_;
};

template <template <class> class Kind, class Work>
std::unique_ptr<Statement> make(Work work) {
  return std::make_unique<Kind<Work>>(std::move(work));
}

inline at::Tensor tensor_of(const at::Tensor& value) { return value; }
inline at::Tensor tensor_of(const c10::IValue& value) { return value.toTensor(); }

inline torch::jit::Module load_program(const std::string& bytes) {
  std::istringstream stream(bytes);
  return torch::jit::load(stream);
}

using Constructor = std::unique_ptr<Statement> (*)(const std::string& program);

struct Object {
  PyObject_HEAD
  Statement* statement;
  std::vector<at::Tensor>* leaves;
  at::Tensor* head;
};

// Runs work without Python's lock, which PyTorch's autograd refuses to be called with, and turns
// exceptions of C++ into Python's.
template <class Work>
bool without_lock(Work&& work) {
  std::string error;
  bool failed = true;
  PyThreadState* state = PyEval_SaveThread();
  try {
    work();
    failed = false;
  } catch (const c10::Error& raised) {
    error = raised.what_without_backtrace();
  } catch (const std::exception& raised) {
    error = raised.what();
  } catch (...) {
    error = "an exception that is no std::exception";
  }
  PyEval_RestoreThread(state);
  if (failed) PyErr_SetString(PyExc_RuntimeError, error.c_str());
  return !failed;
}

inline Object* object_of(PyObject* self) { return reinterpret_cast<Object*>(self); }

inline PyObject* run(PyObject* self, PyObject*) {
  if (!without_lock([&] { object_of(self)->statement->run(); })) return nullptr;
  Py_RETURN_NONE;
}

inline PyObject* loop(PyObject* self, PyObject* argument) {
  const long long count = PyLong_AsLongLong(argument);
  if (count == -1 && PyErr_Occurred()) return nullptr;
  if (!without_lock([&] { object_of(self)->statement->loop(count); })) return nullptr;
  Py_RETURN_NONE;
}

inline PyObject* result(PyObject* self, PyObject*) {
  return THPVariable_Wrap(object_of(self)->statement->result);
}

inline PyObject* prepare(PyObject* self, PyObject* arguments) {
  PyObject *leaves, *head;
  if (!PyArg_ParseTuple(arguments, "O!O", &PyTuple_Type, &leaves, &head)) return nullptr;
  Object* object = object_of(self);
  object->leaves->clear();
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(leaves); ++i) {
    object->leaves->push_back(THPVariable_Unpack(PyTuple_GET_ITEM(leaves, i)));
  }
  *object->head = THPVariable_Unpack(head);
  Py_RETURN_NONE;
}

inline PyObject* backward(PyObject* self, PyObject*) {
  Object* object = object_of(self);
  const bool done = without_lock([&] {
    torch::autograd::grad({object->statement->result}, *object->leaves, {*object->head},
                          /*retain_graph=*/std::nullopt, /*create_graph=*/false,
                          /*allow_unused=*/true);
  });
  if (!done) return nullptr;
  Py_RETURN_NONE;
}

inline void destroy(PyObject* self) {
  Object* object = object_of(self);
  delete object->statement;
  delete object->leaves;
  delete object->head;
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

inline PyMethodDef methods[] = {
    {"run", run, METH_NOARGS, "Runs the statement once."},
    {"loop", loop, METH_O, "Runs the statement as often as the argument says."},
    {"result", result, METH_NOARGS, "Returns the result of the last run."},
    {"prepare", prepare, METH_VARARGS, "Takes the tensors to differentiate by, and the head."},
    {"backward", backward, METH_NOARGS, "Computes the gradients of the last run."},
    {nullptr, nullptr, 0, nullptr},
};

inline PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(destroy)},
    {Py_tp_methods, methods},
    {0, nullptr},
};

inline PyType_Spec spec = {"opperf.Statement", sizeof(Object), 0, Py_TPFLAGS_DEFAULT, slots};

inline PyObject* create(PyTypeObject* type, const std::vector<Constructor>& constructors,
                        PyObject* arguments) {
  Py_ssize_t index, size;
  const char* bytes;
  if (!PyArg_ParseTuple(arguments, "ny#", &index, &bytes, &size)) return nullptr;
  if (index < 0 || index >= static_cast<Py_ssize_t>(constructors.size())) {
    PyErr_SetString(PyExc_IndexError, "no such statement");
    return nullptr;
  }
  std::unique_ptr<Statement> made;
  const std::string program(bytes, size);
  if (!without_lock([&] { made = constructors[index](program); })) return nullptr;
  PyObject* self = type->tp_alloc(type, 0);
  if (self == nullptr) return nullptr;
  Object* object = object_of(self);
  object->statement = made.release();
  object->leaves = new std::vector<at::Tensor>();
  object->head = new at::Tensor();
  return self;
}

}  // namespace opperf

// Defines the module of a unit, whose function `create(index, program)` makes a statement.
#define OPPERF_UNIT(NAME, CONSTRUCTORS)                                                          \
  static PyTypeObject* opperf_type;                                                              \
  static PyObject* opperf_create(PyObject*, PyObject* arguments) {                               \
    return opperf::create(opperf_type, CONSTRUCTORS, arguments);                                 \
  }                                                                                              \
  static PyMethodDef opperf_functions[] = {                                                      \
      {"create", opperf_create, METH_VARARGS, "Runs a setup, and returns its statement."},       \
      {nullptr, nullptr, 0, nullptr},                                                            \
  };                                                                                             \
  static PyModuleDef opperf_module = {PyModuleDef_HEAD_INIT, #NAME, nullptr, -1,                 \
                                      opperf_functions, nullptr, nullptr, nullptr, nullptr};     \
  PyMODINIT_FUNC PyInit_##NAME() {                                                               \
    opperf_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&opperf::spec));               \
    return opperf_type == nullptr ? nullptr : PyModule_Create(&opperf_module);                   \
  }
