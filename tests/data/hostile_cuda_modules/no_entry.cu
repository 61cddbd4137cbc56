// invalid: it does not export hone_run
