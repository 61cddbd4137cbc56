// What a question may show beside what is its own: what the device has, winners of earlier runs, what makes kernels
// fast on Hopper, how kernels with launch lines and modules are written, and the page of the kernel language by
// section. It is retrieved by what the question is about and goes in while there is room, the most useful first. A
// plain value, made once a run.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "propose/past_winner.h"
#include "propose/proposer.h"
#include "target/device_model.h"

namespace hone {

struct Shelf {
  std::vector<std::string> words;   // that the problem is known by in the language: its families, then its operators
  std::vector<PastWinner> winners;  // the most alike first
};

// The families are those of the program that the expert would begin with.
Shelf ShelfOf(const ProposerSetting& setting);

// Sections of Markdown, the most useful first: for somebody who improves on an attempt or writes what to begin with.
// What others wrote stands in fences that it cannot close.
std::vector<std::string> FromShelf(const Shelf& shelf, const Question& question, const DeviceModel& machine);
// The same for somebody who repairs a program: sections of the language that the evidence speaks of.
std::vector<std::string> ForRepair(const Shelf& shelf, const Question& question);

// What the device has, in lines that a kernel is planned by.
std::string DeviceNotes(const DeviceModel& machine);

}  // namespace hone
