// Nothing: the target that owns the precompiled header of the test programs (remanence_compile_as_test) has to have a source.
