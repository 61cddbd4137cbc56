"""The program's end: an import, and what is said where it fails.

Part of hone_import.py, whose names it uses.
"""


def traced(module, fake):
    built = Built(module, fake)
    return built, trace(built)


def answer_of(importer, extra):
    document = {"problem": importer.problem(), "shapes": importer.shapes}
    if KIND == "definition":
        check_outputs(importer.module.definition, document["problem"])
    document.update(extra)
    return document


def run():
    if KIND == "torch_pt2":
        built = Archive()
        with open(PATH, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        return answer_of(Importer(None, digest, built, trace(built), {}), {})
    source, extra, notes = read_source(), {}, {}
    if OPTIONS.get("shrink_mflop"):
        load_source(source)  # what is wrong with the file is said as ever
        exec(compile(OPTIONS["shrink_program"], "hone_shrink.py", "exec"), globals())
        source, notes = Shrinking(source, OPTIONS["shrink_mflop"] * 1e6).run()
        extra["shrunk_source"] = source.decode("utf-8", "surrogateescape").encode("utf-8", "replace").decode()
        notes["source"] = OPTIONS["shrunk_path"]
    module, digest = load_source(source)
    try:
        return answer_of(Importer(module, digest, *traced(module, True), notes), extra)
    except Complaint:
        raise
    except Exception as error:
        if out_of_memory(error):
            raise
        fake_error = error
    try:
        # Whatever looks at data while it is built or traced: once more with real tensors, as far as they fit.
        return answer_of(Importer(module, digest, *traced(module, False), notes), extra)
    except Complaint:
        raise
    except Exception as error:
        if out_of_memory(error) and not out_of_memory(fake_error):
            raise Complaint("cannot be imported on fake tensors (%s), and real ones need more than the %.1f GB of memory "
                            "that an import may take" % (describe_error(fake_error), OPTIONS["memory_bytes"] / 1e9),
                            line_in_file(fake_error))
        raise


try:
    set_memory_limit()
    set_process_limit()
    import warnings

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    document = run()
except Complaint as error:
    fail(error, error.line)
except SystemExit as error:
    fail("calls sys.exit(%s) while it is imported" % (error.code,), line_in_file(error))
except BaseException as error:
    line = line_in_file(error)
    fail(refusal(error, line) or describe_error(error), line)
answer(document)
