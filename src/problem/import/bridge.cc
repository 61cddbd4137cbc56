#include "problem/import/bridge.h"

namespace hone {

extern const std::string_view kImportBridge, kShrinkBridge, kBaselineBridge;  // embedded by CMake

std::string_view ImportBridge() { return kImportBridge; }
std::string_view ShrinkBridge() { return kShrinkBridge; }
std::string_view BaselineBridge() { return kBaselineBridge; }

}  // namespace hone
