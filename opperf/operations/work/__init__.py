"""The operations (flops) of one call of each canonical operation, and the bytes that it has to
move, from the extents of its inputs by role and of its results.

A multiplication and an addition are two operations. A function of each element is one for each
element of its result, whatever it computes; a reduction one for each element that it reads; copies,
views and gathers none. Integers count alike. A Fourier transform of n elements is 5 n log2 n,
whatever its algorithm; sorting them n log2 n. Bytes are a minimum: each element that has to be read
once, each result written once, of a gather only what is read."""
