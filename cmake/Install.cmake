# What ./dev pack packs: the program, its headers, examples, docs and the shared libraries that not every Linux has.
# Linked as it is installed: room for another path would be empty entries, and those search the working directory.
set_target_properties(hone PROPERTIES INSTALL_RPATH "$ORIGIN/../lib" SKIP_BUILD_RPATH OFF BUILD_WITH_INSTALL_RPATH ON)
# RPATH instead of RUNPATH: it also holds for the libraries that our libraries need.
target_link_options(hone PRIVATE -Wl,--disable-new-dtags)
install(TARGETS hone
  RUNTIME_DEPENDENCIES
    PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|dl|rt|pthread|stdc\\+\\+|gcc_s|z)\\.so"
  RUNTIME DESTINATION bin
  LIBRARY DESTINATION lib)
install(DIRECTORY include/hone DESTINATION include)
install(DIRECTORY examples docs DESTINATION share/hone PATTERN __pycache__ EXCLUDE)
install(FILES LICENSE README.md DESTINATION share/hone)

# The manual page and what shells complete by: the program writes both from the rows of its verbs.
install(CODE "
  function(keep path)
    set(file \"\${CMAKE_INSTALL_PREFIX}/share/\${path}\")
    cmake_path(GET file PARENT_PATH folder)
    file(MAKE_DIRECTORY \"\${folder}\")
    execute_process(COMMAND \"$<TARGET_FILE:hone>\" \${ARGN} OUTPUT_FILE \"\${file}\" COMMAND_ERROR_IS_FATAL ANY)
  endfunction()
  keep(man/man1/hone.1 help --man)
  keep(bash-completion/completions/hone completion bash)
  keep(zsh/site-functions/_hone completion zsh)
  keep(fish/vendor_completions.d/hone.fish completion fish)")
