/* The main of test programs that have none of their own: runs all tests, or those whose names match its argument. */
#include "test.h"

int main(int argc, char **argv)
{
    return run_registered_tests(argc > 1 ? argv[1] : NULL);
}
