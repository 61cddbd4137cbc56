// What a problem and a plan say without being run: limits by the device's ceilings, bytes that steps name.
#pragma once

#include <string>
#include <vector>

#include "candidate/plan.h"
#include "graph/graph.h"
#include "profile/profile.h"
#include "target/device_model.h"

namespace hone {

// The device's own figures; those that are not known have no fact.
void AddDeviceFacts(Profile& profile, const DeviceModel& device);

// The limits of the whole problem, and its contract.
void AddProblemFacts(Profile& profile, const Graph& graph, const DeviceModel& device);

// How many steps a run has, and what they hand to each other through memory.
void AddPlanFacts(Profile& profile, const Plan& plan, const Problem& problem, const DeviceModel& device);

// What one step names. A kernel need not touch all of a tensor that it is given, so this is no bound.
void AddStepFacts(Profile& profile, const Plan& plan, const PlanStep& step, const Problem& problem,
                  const DeviceModel& device);

// The tensors and buffers that a step names, each once.
std::vector<std::string> NamesOf(const PlanStep& step);

}  // namespace hone
