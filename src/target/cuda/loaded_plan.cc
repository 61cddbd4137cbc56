#include "target/cuda/loaded_plan.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "target/cuda/driver_api.h"
#include "target/cuda/library_steps.h"

namespace hone::cuda {

// A launch with its arguments in the bytes that the driver reads, a library's call, or a memset.
struct LoadedPlan::Step {
  Libraries::Call call;      // empty: not a library's
  void* function = nullptr;  // null: a memset
  LaunchConfig config{};
  std::vector<LaunchAttribute> attributes;
  std::vector<TensorMap> values;  // one an argument, in its first bytes
  Address at = 0;
  std::int64_t bytes = 0;
  int byte = 0;
};

struct LoadedPlan::Bound {
  std::vector<Step> steps;
  void* exec = nullptr;  // as a CUDA graph
};

LoadedPlan::LoadedPlan(Context& context) : context_(context) {}

Try<std::unique_ptr<LoadedPlan>> LoadedPlan::Load(Context& context, const BuiltPlan& built) {
  auto loaded = std::unique_ptr<LoadedPlan>(new LoadedPlan(context));
  loaded->plan_ = built.plan;
  loaded->early_ = built.early;
  loaded->libraries_ = std::make_unique<Libraries>(context, built.libraries);
  for (const auto& cubin : built.cubins) HONE_CUDA(module_load, &loaded->modules_.emplace_back(), cubin.data());
  for (const auto& facts : built.prepare) loaded->prepare_symbols_.push_back(facts.name);
  for (const auto& facts : built.launches) loaded->step_symbols_.push_back(facts.name);
  for (const auto& buffer : built.plan.buffers) {
    const auto bytes = ElementCount(buffer.shape) * static_cast<std::int64_t>(Bytes(buffer.dtype));
    auto address = context.Allocate(bytes);
    if (!address) return tl::unexpected<Failure>(address.error());
    loaded->buffers_.push_back({buffer.name, *address, bytes, buffer.dtype});
  }
  return loaded;
}

LoadedPlan::~LoadedPlan() {
  for (const auto& bound : bound_) {
    if (bound->exec != nullptr) Driver().exec_destroy(bound->exec);
  }
  for (const auto& buffer : buffers_) Driver().free(buffer.address);
  for (void* module : modules_) {
    if (module != nullptr) Driver().module_unload(module);
  }
}

Try<void> LoadedPlan::FillBuffers(int byte) {
  for (const auto& buffer : buffers_) {
    if (auto set = context_.Set(buffer.address, byte, buffer.bytes); !set) return set;
  }
  return {};
}

Try<std::vector<LoadedPlan::Step>> LoadedPlan::Steps(const std::vector<PlanStep>& steps,
                                                     std::span<const Binding> tensors) {
  // BuildPlan has seen that every name is known.
  const auto find = [&](const std::string& name) -> const Binding& {
    for (const auto& buffer : buffers_) {
      if (buffer.name == name) return buffer;
    }
    for (const auto& tensor : tensors) {
      if (tensor.name == name) return tensor;
    }
    HONE_CHECK(name.empty(), "a step of a plan is given no memory for what it names");
    static const Binding none;
    return none;
  };
  const auto& symbols = &steps == &plan_.prepare ? prepare_symbols_ : step_symbols_;
  std::size_t launches = 0;
  std::vector<Step> made;
  for (const auto& step : steps) {
    Step one;
    if (const auto* set = std::get_if<MemsetStep>(&step)) {
      one.at = find(set->buffer).address;
      one.bytes = find(set->buffer).bytes;
      one.byte = set->byte;
      made.push_back(std::move(one));
      continue;
    }
    const auto call = [&](const auto& of) -> Try<void> {
      auto ready = libraries_->Prepare(of, find);
      if (!ready) return tl::unexpected<Failure>(ready.error());
      one.call = std::move(*ready);
      made.push_back(std::move(one));
      return {};
    };
    if (const auto* matmul = std::get_if<MatmulStep>(&step)) {
      if (auto called = call(*matmul); !called) return tl::unexpected<Failure>(called.error());
      continue;
    }
    if (const auto* convolution = std::get_if<ConvolutionStep>(&step)) {
      if (auto called = call(*convolution); !called) return tl::unexpected<Failure>(called.error());
      continue;
    }
    const auto& launch = std::get<LaunchStep>(step);
    HONE_CUDA(module_function, &one.function, modules_[launch.source], symbols[launches++].c_str());
    if (launch.shared_bytes > 0)
      HONE_CUDA(function_set, one.function, kMaxDynamicShared, static_cast<int>(launch.shared_bytes));
    if (launch.together > 1) {
      int blocks = 0;
      const std::int64_t threads = launch.block[0] * launch.block[1] * launch.block[2];
      HONE_CUDA(function_blocks, &blocks, one.function, static_cast<int>(threads),
                static_cast<std::size_t>(launch.shared_bytes));
      if (const std::int64_t most = std::int64_t{blocks} * context_.device().model.multiprocessors;
          launch.together > most) {
        constexpr int kTooLarge = 720;  // CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
        return tl::unexpected<Failure>(
            Failure{kTooLarge, fmt::format("{} blocks of '{}' wait for each other, and this device holds {} at once",
                                           launch.together, launch.kernel, most)});
      }
    }
    bool in_clusters = false;
    for (std::size_t d = 0; d < 3; ++d) {
      one.config.grid[d] = static_cast<unsigned>(launch.grid[d]);
      one.config.block[d] = static_cast<unsigned>(launch.block[d]);
      in_clusters |= launch.cluster[d] > 1;
    }
    one.config.shared_bytes = static_cast<unsigned>(launch.shared_bytes);
    if (in_clusters) {
      LaunchAttribute& cluster = one.attributes.emplace_back();
      cluster.id = kClusterDimension;
      cluster.value.cluster = {static_cast<unsigned>(launch.cluster[0]), static_cast<unsigned>(launch.cluster[1]),
                               static_cast<unsigned>(launch.cluster[2])};
    }
    if (&steps == &plan_.steps && made.size() < early_.size() && early_[made.size()]) {
      LaunchAttribute& early = one.attributes.emplace_back();
      early.id = kEarlyLaunch;
      early.value.early = 1;
    }
    one.values.resize(launch.arguments.size());
    for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
      TensorMap& value = one.values[i];
      if (const auto* buffer = std::get_if<BufferArgument>(&launch.arguments[i])) {
        const Binding& memory = find(buffer->name);
        const Address address = memory.address + static_cast<Address>(buffer->offset) * Bytes(memory.dtype);
        std::memcpy(&value, &address, sizeof address);
      } else if (const auto* number = std::get_if<NumberArgument>(&launch.arguments[i])) {
        if (const auto* real = std::get_if<double>(&number->value)) {
          const auto narrow = static_cast<float>(*real);
          if (number->type == NumberArgument::Type::kF32) {
            std::memcpy(&value, &narrow, sizeof narrow);
          } else {
            std::memcpy(&value, real, sizeof *real);
          }
        } else if (const auto* whole = std::get_if<std::int64_t>(&number->value)) {
          std::memcpy(&value, whole, sizeof *whole);  // little-endian: the narrow types are the first bytes
        } else {
          std::memcpy(&value, &std::get<std::uint64_t>(number->value), sizeof(std::uint64_t));
        }
      } else {
        const auto& map = std::get<TensorMapArgument>(launch.arguments[i]);
        const Binding& memory = find(map.buffer);
        const auto element = Bytes(memory.dtype);
        // The driver's dimensions count from the innermost.
        std::array<std::uint64_t, 5> extents{}, strides{};
        std::array<unsigned, 5> box{}, walk{1, 1, 1, 1, 1};
        const std::size_t rank = map.shape.size(), boxed = map.box.size();
        for (std::size_t d = 0; d < boxed; ++d) box[d] = static_cast<unsigned>(map.box[boxed - 1 - d]);
        for (std::size_t d = 0; d < rank; ++d) {
          extents[d] = static_cast<std::uint64_t>(map.shape[rank - 1 - d]);
          if (d > 0) strides[d - 1] = static_cast<std::uint64_t>(map.strides[rank - 1 - d]) * element;
        }
        const int promote = map.promote == 256 ? 3 : map.promote == 128 ? 2 : map.promote == 64 ? 1 : 0;
        const int swizzle = map.swizzle == 128 ? 3 : map.swizzle == 64 ? 2 : map.swizzle == 32 ? 1 : 0;
        const Address address = memory.address + static_cast<Address>(map.offset) * element;
        const int type = map.tf32 ? kTf32MapCode : RowOf(memory.dtype).tensor_map_code;
        void* const begin = reinterpret_cast<void*>(address);
        if (map.pixels) {
          std::array<int, 3> lower{}, upper{};
          const std::size_t spatial = rank - 2;
          for (std::size_t d = 0; d < spatial; ++d) {
            lower[d] = static_cast<int>(map.pixels->lower[spatial - 1 - d]);
            upper[d] = static_cast<int>(map.pixels->upper[spatial - 1 - d]);
            walk[d + 1] = static_cast<unsigned>(map.pixels->stride[spatial - 1 - d]);
          }
          HONE_CUDA(encode_pixels, &value, type, static_cast<unsigned>(rank), begin, extents.data(), strides.data(),
                    lower.data(), upper.data(), box[0], box[1], walk.data(), 0, swizzle, promote, 0);
        } else {
          HONE_CUDA(encode_tiled, &value, type, static_cast<unsigned>(rank), begin, extents.data(), strides.data(),
                    box.data(), walk.data(), 0, swizzle, promote, 0);
        }
      }
    }
    made.push_back(std::move(one));
  }
  return made;
}

Try<void> LoadedPlan::Launch(const Step& step) {
  if (step.call) return step.call();
  if (step.function == nullptr) return context_.Set(step.at, step.byte, step.bytes);
  if (before_) {
    if (auto called = before_(); !called) return called;
  }
  LaunchConfig config = step.config;
  config.stream = context_.stream_;
  std::vector<LaunchAttribute> attributes = step.attributes;
  config.attributes = attributes.data();
  config.attribute_count = static_cast<unsigned>(attributes.size());
  std::vector<void*> parameters;
  for (const auto& value : step.values) parameters.push_back(const_cast<TensorMap*>(&value));
  HONE_CUDA(launch, &config, step.function, parameters.data(), nullptr);
  return {};
}

Try<void> LoadedPlan::Launch(const std::vector<Step>& steps) {
  for (const auto& step : steps) {
    if (auto launched = Launch(step); !launched) return launched;
  }
  return {};
}

Try<void> LoadedPlan::Prepare(std::span<const Binding> tensors) {
  const auto steps = Steps(plan_.prepare, tensors);
  if (!steps) return tl::unexpected<Failure>(steps.error());
  if (auto launched = Launch(*steps); !launched) return launched;
  return context_.Wait();
}

Try<int> LoadedPlan::Bind(std::span<const Binding> tensors) {
  auto steps = Steps(plan_.steps, tensors);
  if (!steps) return tl::unexpected<Failure>(steps.error());
  bound_.push_back(std::make_unique<Bound>());
  bound_.back()->steps = std::move(*steps);
  return static_cast<int>(bound_.size()) - 1;
}

Try<void> LoadedPlan::Run(int binding) { return Launch(bound_[static_cast<std::size_t>(binding)]->steps); }

Try<void> LoadedPlan::RunStep(int binding, std::size_t step) {
  return Launch(bound_[static_cast<std::size_t>(binding)]->steps[step]);
}

Try<void> LoadedPlan::RunGraph(int binding) {
  Bound& bound = *bound_[static_cast<std::size_t>(binding)];
  if (bound.exec == nullptr) {
    constexpr int kThreadLocal = 1;
    HONE_CUDA(capture_begin, context_.stream_, kThreadLocal);
    const auto launched = Launch(bound.steps);
    void* graph = nullptr;
    const int ended = Driver().capture_end(context_.stream_, &graph);
    if (!launched) return launched;
    if (ended != 0) return Failed("capture_end", ended);
    const int made = Driver().graph_instantiate(&bound.exec, graph, 0);
    Driver().graph_destroy(graph);
    if (made != 0) return Failed("graph_instantiate", made);
  }
  HONE_CUDA(graph_launch, bound.exec, context_.stream_);
  return {};
}

}  // namespace hone::cuda
