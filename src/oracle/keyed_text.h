// Nests some of whose folds are taken from lists (key_lists.h) or looked up in sorted rows (sorted_ranks.h): what the
// writers of the host's and of a device's have in common. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "oracle/key_lists.h"
#include "oracle/nest_text.h"
#include "oracle/sorted_ranks.h"

namespace hone {

class KeyedText : public NestText {
 public:
  // Stages of fewer looks at terms than `fewest_looks` have neither.
  KeyedText(const Graph& graph, Style style, std::int64_t fewest_looks, Moves moves)
      : NestText(graph, style, moves), fewest_looks_(fewest_looks) {}

 protected:
  // Those of a stage, which is no step of a sequence; until ForgetFolds, folds that have one are taken from it.
  void FindFolds(const Stage& stage);
  void ForgetFolds();
  bool HasFolds() const { return !lists().empty() || !ranks().empty(); }
  const std::vector<KeyLists>& lists() const { return stage_lists_.lists; }
  const ListedFold* Listed(const ExprNode& fold) const;
  const std::vector<SortedRanks>& ranks() const { return stage_ranks_.ranks; }
  bool IsRanked(const ExprNode& fold) const { return stage_ranks_.folds.contains(&fold); }

  // `flat` taken apart into indices, the last of which runs fastest.
  void Indices(const std::vector<IndexVar>& vars, std::string flat);
  // Statements that declare `list`, which one of its place of the others' a term is in, or -1, and `sure`, whether that
  // hangs on no rounding: by the term's number `fold`, in sight of the others' indices.
  void WriteListOfTerm(const KeyLists& lists);
  // In sight of the result's indices: the number of the others' place, and of the list among those of that place.
  std::string OtherText(const KeyLists& lists) const { return FlatText(lists.others); }
  std::string ListText(const KeyLists& lists) const;

  // The type of what is compared.
  static const char* KeyType(const SortedRanks& ranks);
  // The statement that gives what is compared, by the row's number `other` and the element's, `place`.
  void WriteRankKey(const SortedRanks& ranks, std::string_view before, std::string_view after);
  // What the fold is, in sight of the result's indices.
  std::string RankText(const ExprNode& fold) const;

  // A sum's term without its error, where it has none; and what such a sum needs behind its terms.
  bool WriteExactTerm(const ExprNode& e, const std::string& name);
  void WriteScaling(const ExprNode& e, const std::string& name);

 private:
  std::string FlatText(const std::vector<IndexVar>& vars) const;

  const std::int64_t fewest_looks_;
  StageLists stage_lists_;
  StageRanks stage_ranks_;
};

}  // namespace hone
