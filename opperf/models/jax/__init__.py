"""The networks in JAX: functions of parameters and inputs, without a library of layers."""
