/// Refers to the default of the tests' width, so that it is linked.
void errand_test_width(void);
