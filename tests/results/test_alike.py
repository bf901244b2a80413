"""What cases that differ in their settings alone have in common."""

import msgspec

from opperf.model import DType, Fill, TensorSpec
from opperf.results.settings import alike_text, differing_settings, dtypes_of


def test_a_case_in_two_dtypes_has_one_text(make_case):
    """Literal data keep their dtype, which is that of one of the two; the argument has each."""

    def case(dtype, fixed="float64"):
        arguments = {
            "u": TensorSpec((4,), dtype),
            "v": TensorSpec((2,), fixed, Fill("literal", data=[1.0, 2.0])),
            "out_dtype": DType(dtype),
        }
        return make_case("polydiv", dtype=dtype, arguments=arguments)

    both = [case("float32"), case("float64")]
    one, other = (alike_text(each, dtypes_of(both)) for each in both)
    assert one == other and "own" in one
    assert differing_settings(both) == ("dtype",)
    # An index has a dtype that no setting has.
    assert alike_text(case("float32", "int64"), dtypes_of(both)) != one


def test_a_case_in_two_memory_formats_has_one_text(make_case):
    plain = make_case("conv", arguments={"x": TensorSpec((1, 2, 3, 4))})
    settings = msgspec.structs.replace(plain.settings, memory_format="channels_last")
    spec = TensorSpec((1, 2, 3, 4), memory_format="channels_last")
    other = msgspec.structs.replace(plain, arguments={"x": spec}, settings=settings)
    assert alike_text(plain, {"float32"}) == alike_text(other, {"float32"})
