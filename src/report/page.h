// A run as one HTML file that needs neither a network nor hone: what was found, why it is right, how the search came to
// it. Of a section of the page there are two files in report/page/ of one name, which begins with its place: NN_name.cc
// says what it holds, as JSON, and NN_name.js draws that. A generated table collects them; the page is otherwise
// page.html, page.css and page.js.
//
// What runs hold is foreign text: names, sources, compilers' words. It is in the page as JSON without any '<', which
// the scripts show as text alone; a policy in the page allows these scripts and nothing else, no network either.
// Pure functions of their material, safe from any thread.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/row.h"
#include "problem/problem.h"
#include "store/records.h"
#include "verdict/verdict.h"

namespace hone {

// All that is known of a run. Attempts and their evaluations are in the order of their numbers 1, 2, ...
struct RunMaterial {
  RunRecord run;
  std::string state;  // "done", "killed"
  RunSummary summary;
  Problem problem;
  std::vector<std::string> flags;  // what is degenerate about it, a sentence each
  std::vector<AttemptRecord> attempts;
  std::vector<Evaluation> evaluations;  // without logs; empty of one that has not ended
  std::vector<ConfirmationRecord> confirmations;
  std::vector<double> confirming_ms;  // that each confirmation took
  std::vector<double> ranked_us;      // what each was ranked by, where that was not its median since it was disturbed
  std::vector<RoundRecord> rounds;
  std::map<std::string, std::string> texts;  // sources and logs of attempts, by their keys
  Evaluation proof;             // of the best attempt: its confirmation's, else its own; empty without a best
  bool confirmed = false;       // it is a confirmation's
  std::string roofline;         // diagnose/roofline.h as JSON, with what the problem needs for a point; or else
  std::string why_no_roofline;  // one line
  std::string command;          // that makes it again
  std::vector<std::pair<std::string, std::string>> environment;  // what of, and what
  std::string made_by;                                           // "hone 0.9.0, 2026-11-23"
};

struct PageSection {
  std::string_view name;                                // "proof", of page/10_proof.cc
  std::string_view title;                               // its heading
  nlohmann::json (*data)(const RunMaterial& material);  // null: the run has nothing for it, and the page no section
};

// The best attempt and what it came from, from the start on; empty without a best.
std::vector<const AttemptRecord*> WayToTheBest(const RunMaterial& material);

std::span<const PageSection* const> AllPageSections();  // in the order of the page

std::string WritePage(const RunMaterial& material);

// What that page holds.
nlohmann::json DocumentOf(const RunMaterial& material);

// The page around a document: its "title" is foreign text, too. With "live", an address beside the page's own, the page
// asks there again and again for another document to show (`?since=` its "stamp"), and may.
std::string WritePage(const nlohmann::json& document);

}  // namespace hone
