// Runs as one file, to be carried between machines that share no store: a login node with the network, a node with the
// device and without (docs/machines.md). A bundle is a run store of its own with these runs and nothing else; what it
// says is checked before any of it is taken over.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "store/contents.h"
#include "store/store.h"

namespace hone {

// Writes the runs to `path`, which is there whole or not at all, in place of what was there. Attempts in flight stay
// behind. Fails as the store does.
Result<void> WriteBundle(Store& from, const std::vector<RunRecord>& runs, const std::string& path);

// Takes over what the bundle has and the store has not (Union of store/contents.h), all of it or nothing; the file is
// left as it is. kCorrupt, kUsage and kNotFound for what is no bundle, damaged, too large, of a later hone, or says
// what no run of ours can: one line, and nothing is merged. Times and verdicts are believed as they are written: they
// are those of whoever made the bundle.
Result<Written> MergeBundle(Store& into, const std::string& path);

// Whether a run is one that hone may have made: its texts are what their names say, what refers to another is right.
// `where` is for the message: "run 3fa21c of x.bundle".
Result<void> CheckContents(const RunContents& contents, const std::string& where);

}  // namespace hone
