// Not a module: nothing to run.
int unused = 0;
