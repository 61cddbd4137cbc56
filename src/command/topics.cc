// What `hone help environment` and `hone help words` list.
#include "command/command.h"

namespace hone {
namespace {

constexpr Variable kVariables[] = {
    {"HONE_STORE", "the run store (default: runs.sqlite in the data folder); --store comes before it"},
    {"HONE_DATA",
     "the data folder: run store, calibrations, kept baselines (default: $XDG_DATA_HOME/hone, else "
     "~/.local/share/hone)"},
    {"HONE_CACHE",
     "the cache folder: what compilers made, imported weights (default: $XDG_CACHE_HOME/hone, else "
     "~/.cache/hone)"},
    {"HONE_CONFIG",
     "the folder of what you write for hone: models.toml (default: $XDG_CONFIG_HOME/hone, else ~/.config/hone)"},
    {"HONE_CACHE_MAX", "how large the cache may grow, in bytes or with K, M or G behind the number"},
    {"HONE_PYTHON", "the Python that has PyTorch, and then no other (default: python3 in PATH, then /usr/bin/python3)"},
    {"HONE_CXX", "the host compiler of modules for the processor (default: g++, then clang++)"},
    {"HONE_CUDA", "a CUDA toolkit's folder, before CUDA_HOME, CUDA_PATH and the usual places"},
    {"HONE_CUTLASS", "CUTLASS's folder (with include/), for CUDA C++ modules that include it"},
    {"CUDA_HOME, CUDA_PATH", "a CUDA toolkit's folder, as for other programs"},
    {"CUDA_VISIBLE_DEVICES", "the CUDA devices that are seen, as for other programs; --devices picks of them"},
    {"XDG_DATA_HOME, XDG_CACHE_HOME, XDG_CONFIG_HOME", "where programs keep data, caches and settings"},
    {"HOME, TMPDIR, PATH, TERM", "as for other programs; scratch files lie in TMPDIR, /tmp without it"},
};

constexpr Term kGlossary[] = {
    {"problem", "tensors, a graph of operators on them and a contract: what a kernel has to compute"},
    {"candidate",
     "the text of something that claims to compute a problem: a program of the kernel language (.hk), a "
     "module (C++ or CUDA C++) or a plan (.json: device sources and their launches)"},
    {"attempt", "a candidate that a run has tried, with its verdict"},
    {"run", "one search over one problem; the same command goes on with it"},
    {"proposer",
     "who says what a run can try: the built-in expert, a language model, a recorded file, a mailbox; or several"},
    {"round", "what a proposer answers to one question: candidates to begin with, or improvements on an attempt"},
    {"objective",
     "what a run makes small: time; or the energy of a call, of those that are hardly slower than the fastest"},
    {"contract",
     "how accurate a result has to be: fp64, fp32, tf32, bf16, fp16; torch: each operator at the precision "
     "that PyTorch's defaults give it"},
    {"oracle", "the definitions of the operators, computed in double precision: what results are held against"},
    {"budget",
     "the error that an element may have: a factor times that of an honest implementation in the "
     "contract's precision; also: what a run may spend"},
    {"honest",
     "as a plain implementation would do it that takes no liberty: operands rounded as the contract says, "
     "everything computed"},
    {"componentwise", "right in every element, also where inputs differ by factors of 2^40"},
    {"normwise",
     "right where inputs are of like size; on very wide ones small elements drown in the rounding of large "
     "ones, as in most fast algorithms"},
    {"held by",
     "what kept the candidate's process from the rest of the machine: bubblewrap (namespaces), seccomp "
     "(system calls), limits"},
    {"bound",
     "speed of light: the least time in which this machine can move the tensors and do the arithmetic, from "
     "measured ceilings"},
    {"ceiling", "the most that this machine was measured to do: bytes or operations a second"},
    {"headroom", "the part of a time that lies above the bound: 0 at the limit, 50 % where twice as fast is thinkable"},
    {"warm, cold", "a time with inputs in the caches as the call before left them, and with caches emptied"},
    {"naive", "the definitions' loop nests as they stand, compiled: the slowest baseline, and the last resort"},
    {"confirmed",
     "judged and timed once more at the end of a run, on inputs that no attempt has seen, beside all "
     "baselines"},
    {"flagged",
     "of a problem whose output is constant, zero or blind to inputs, or whose work algebra saves: times say "
     "little there"},
};

}  // namespace

std::span<const Variable> Variables() { return kVariables; }
std::span<const Term> Glossary() { return kGlossary; }

}  // namespace hone
