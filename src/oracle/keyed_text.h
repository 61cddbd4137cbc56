// Nests some of whose folds are taken from lists (key_lists.h): what the writers of the host's and of a device's have
// in common. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "oracle/key_lists.h"
#include "oracle/nest_text.h"

namespace hone {

class KeyedText : public NestText {
 public:
  // Stages of fewer looks at terms than `fewest_looks` have no lists.
  KeyedText(const Graph& graph, Style style, std::int64_t fewest_looks, Moves moves)
      : NestText(graph, style, moves), fewest_looks_(fewest_looks) {}

 protected:
  // Those of a stage, which is no step of a sequence; until ForgetLists, folds that have one are taken from it.
  void FindLists(const Stage& stage);
  void ForgetLists() { stage_lists_ = {}; }
  const std::vector<KeyLists>& lists() const { return stage_lists_.lists; }
  const ListedFold* Listed(const ExprNode& fold) const;

  // `flat` taken apart into indices, the last of which runs fastest.
  void Indices(const std::vector<IndexVar>& vars, std::string flat);
  // Statements that declare `list`, which one of its place of the others' a term is in, or -1: by the term's number
  // `fold` and the place's, `other`.
  void WriteListOfTerm(const KeyLists& lists);
  // In sight of the result's indices: the number of the others' place, and of the list among those of that place.
  std::string OtherText(const KeyLists& lists) const { return FlatText(lists.others); }
  std::string ListText(const KeyLists& lists) const;

  // A sum's term without its error, where it has none; and what such a sum needs behind its terms.
  bool WriteExactTerm(const ExprNode& e, const std::string& name);
  void WriteScaling(const ExprNode& e, const std::string& name);

 private:
  std::string FlatText(const std::vector<IndexVar>& vars) const;

  const std::int64_t fewest_looks_;
  StageLists stage_lists_;
};

}  // namespace hone
