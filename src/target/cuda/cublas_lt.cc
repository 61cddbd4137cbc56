#include "target/cuda/cublas_lt.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace hone::cuda {
namespace {

// The part of the library's C interface that we use, as its documentation declares it. Every call gives a status, an
// int; 0 is success. Matrices are stored by columns there.
struct Algorithm {
  std::uint64_t words[8];
};
struct Proposal {
  Algorithm algorithm;
  std::size_t workspace_bytes;
  int status;
  float waves;
  int reserved[4];
};
enum DescriptionAttribute { kTransposeA = 3, kTransposeB = 4, kEpilogue = 7, kBiasPointer = 8 };
enum LayoutAttribute { kBatchCount = 5, kBatchOffset = 6 };
enum PreferenceAttribute { kMostWorkspace = 1, kAlignmentA = 5, kAlignmentB = 6, kAlignmentC = 7, kAlignmentD = 8 };
enum Epilogue { kPlain = 1, kWithRelu = 2, kWithBias = 4, kWithGelu = 32 };
constexpr int kAllocationFailed = 3;

int TypeOf(DType dtype) { return dtype == DType::kF64 ? 1 : dtype == DType::kF16 ? 2 : dtype == DType::kBF16 ? 14 : 0; }
int ComputeOf(MatmulCompute compute) {
  switch (compute) {
    case MatmulCompute::kF32: return 68;
    case MatmulCompute::kTf32: return 77;
    case MatmulCompute::kF16: return 74;
    case MatmulCompute::kBf16: return 75;
    case MatmulCompute::kF64: return 70;
  }
  return 68;
}

}  // namespace

struct CublasLt::Api {
  int (*create)(void** handle);
  int (*destroy)(void* handle);
  int (*description_create)(void** description, int compute, int scale);
  int (*description_destroy)(void* description);
  int (*description_set)(void* description, int attribute, const void* value, std::size_t bytes);
  int (*layout_create)(void** layout, int type, std::uint64_t rows, std::uint64_t columns, std::int64_t leading);
  int (*layout_destroy)(void* layout);
  int (*layout_set)(void* layout, int attribute, const void* value, std::size_t bytes);
  int (*preference_create)(void** preference);
  int (*preference_destroy)(void* preference);
  int (*preference_set)(void* preference, int attribute, const void* value, std::size_t bytes);
  int (*propose)(void* handle, void* description, void* a, void* b, void* c, void* d, void* preference, int wanted,
                 Proposal* proposals, int* count);
  int (*matmul)(void* handle, void* description, const void* alpha, Address a, void* a_layout, Address b,
                void* b_layout, const void* beta, Address c, void* c_layout, Address d, void* d_layout,
                const Algorithm* algorithm, Address workspace, std::size_t workspace_bytes, void* stream);
  const char* (*status_name)(int status);

  tl::unexpected<Failure> Failed(std::string_view call, int status) const {
    constexpr int kOutOfMemory = 2, kNone = -1;  // the driver's number for it, and one that it does not have
    return tl::unexpected<Failure>(Failure{status == kAllocationFailed ? kOutOfMemory : kNone,
                                           fmt::format("cublasLt{}: {}", call, status_name(status))});
  }
};

#define HONE_LT(name, call, ...)                                                         \
  do {                                                                                   \
    if (const int status_ = api_->call(__VA_ARGS__)) return api_->Failed(name, status_); \
  } while (false)

class CublasLt::Prepared {
 public:
  explicit Prepared(const Api& api) : api_(api) {}
  ~Prepared() {
    if (description != nullptr) api_.description_destroy(description);
    for (void* layout : layouts) {
      if (layout != nullptr) api_.layout_destroy(layout);
    }
  }
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;

  MatmulCall call;
  void* description = nullptr;
  std::array<void*, 4> layouts{};  // of what the library calls A, B, C, D
  Proposal chosen{};

 private:
  const Api& api_;
};

CublasLt::CublasLt(std::unique_ptr<Api> api) : api_(std::move(api)) {}

CublasLt::~CublasLt() {
  if (handle_ != nullptr) api_->destroy(handle_);
}

Try<std::unique_ptr<CublasLt>> CublasLt::Open(const std::string& path) {
  const auto library = SharedLibrary::Open({&path, 1});
  if (!library) return tl::unexpected<Failure>(Failure{-1, library.error().message});
  auto api = std::make_unique<Api>();
  const auto load = [&](const char* symbol, auto*& function) { return library->Load(symbol, function); };
  const bool all = load("cublasLtCreate", api->create) && load("cublasLtDestroy", api->destroy) &&
                   load("cublasLtMatmulDescCreate", api->description_create) &&
                   load("cublasLtMatmulDescDestroy", api->description_destroy) &&
                   load("cublasLtMatmulDescSetAttribute", api->description_set) &&
                   load("cublasLtMatrixLayoutCreate", api->layout_create) &&
                   load("cublasLtMatrixLayoutDestroy", api->layout_destroy) &&
                   load("cublasLtMatrixLayoutSetAttribute", api->layout_set) &&
                   load("cublasLtMatmulPreferenceCreate", api->preference_create) &&
                   load("cublasLtMatmulPreferenceDestroy", api->preference_destroy) &&
                   load("cublasLtMatmulPreferenceSetAttribute", api->preference_set) &&
                   load("cublasLtMatmulAlgoGetHeuristic", api->propose) && load("cublasLtMatmul", api->matmul) &&
                   load("cublasLtGetStatusName", api->status_name);
  if (!all)
    return tl::unexpected<Failure>(Failure{-1, fmt::format("{} is older than cuBLASLt 12: install a newer", path)});
  auto made = std::unique_ptr<CublasLt>(new CublasLt(std::move(api)));
  auto& api_ = made->api_;
  HONE_LT("Create", create, &made->handle_);
  return made;
}

Try<std::shared_ptr<const CublasLt::Prepared>> CublasLt::Prepare(const MatmulCall& call) {
  auto made = std::make_shared<Prepared>(*api_);
  made->call = call;
  // What lies in rows is, by columns, the transpose: the library makes d' = b' a'.
  const DeviceMatrix& c = call.beta != 0 ? call.c : call.d;
  const bool wide = call.compute == MatmulCompute::kF64;
  HONE_LT("MatmulDescCreate", description_create, &made->description, ComputeOf(call.compute),
          TypeOf(wide ? DType::kF64 : DType::kF32));
  const auto set = [&](DescriptionAttribute attribute, const auto& value) {
    return api_->description_set(made->description, attribute, &value, sizeof value);
  };
  const std::int32_t a_turned = call.a.strides[1] != 1, b_turned = call.b.strides[1] != 1;
  std::uint32_t epilogue = call.bias != 0 ? kWithBias : 0;
  if (call.activation == Activation::kRelu) epilogue |= kWithRelu;
  if (call.activation == Activation::kGelu) epilogue |= kWithGelu;
  if (epilogue == 0) epilogue = kPlain;
  int status = set(kTransposeA, b_turned);
  if (status == 0) status = set(kTransposeB, a_turned);
  if (status == 0) status = set(kEpilogue, epilogue);
  if (status == 0 && call.bias != 0) status = set(kBiasPointer, call.bias);
  if (status != 0) return api_->Failed("MatmulDescSetAttribute", status);
  const auto layout = [&](void*& to, const DeviceMatrix& matrix, std::int64_t rows, std::int64_t columns) {
    const bool in_rows = matrix.strides[1] == 1;
    const std::int64_t least = in_rows ? columns : rows,
                       leading = std::max(in_rows ? matrix.strides[0] : matrix.strides[1], least);
    int code = api_->layout_create(&to, TypeOf(matrix.dtype), static_cast<std::uint64_t>(least),
                                   static_cast<std::uint64_t>(in_rows ? rows : columns), leading);
    const auto count = static_cast<std::int32_t>(call.batch);
    if (code == 0 && call.batch > 1) code = api_->layout_set(to, kBatchCount, &count, sizeof count);
    if (code == 0 && call.batch > 1)
      code = api_->layout_set(to, kBatchOffset, &matrix.batch_stride, sizeof matrix.batch_stride);
    return code;
  };
  auto& layouts = made->layouts;
  status = layout(layouts[0], call.b, call.k, call.n);
  if (status == 0) status = layout(layouts[1], call.a, call.m, call.k);
  if (status == 0) status = layout(layouts[2], c, call.m, call.n);
  if (status == 0) status = layout(layouts[3], call.d, call.m, call.n);
  if (status != 0) return api_->Failed("MatrixLayoutCreate", status);

  void* preference = nullptr;
  HONE_LT("MatmulPreferenceCreate", preference_create, &preference);
  const auto most = static_cast<std::uint64_t>(call.workspace_bytes);
  status = api_->preference_set(preference, kMostWorkspace, &most, sizeof most);
  const auto aligned = [&](PreferenceAttribute attribute, Address at) {
    const auto bytes = static_cast<std::uint32_t>(std::min<Address>(at & (~at + 1), 256));
    if (status == 0) status = api_->preference_set(preference, attribute, &bytes, sizeof bytes);
  };
  aligned(kAlignmentA, call.b.at);
  aligned(kAlignmentB, call.a.at);
  aligned(kAlignmentC, c.at);
  aligned(kAlignmentD, call.d.at);
  std::vector<Proposal> proposals(static_cast<std::size_t>(call.algorithm) + 1);
  int count = 0;
  if (status == 0) {
    status = api_->propose(handle_, made->description, layouts[0], layouts[1], layouts[2], layouts[3], preference,
                           static_cast<int>(proposals.size()), proposals.data(), &count);
  }
  api_->preference_destroy(preference);
  if (status != 0) return api_->Failed("MatmulAlgoGetHeuristic", status);
  if (count <= call.algorithm) {
    return tl::unexpected<Failure>(Failure{
        -1, fmt::format("cuBLASLt has {} ways to do this product in {} bytes of workspace, there is no number {}",
                        count, call.workspace_bytes, call.algorithm)});
  }
  made->chosen = proposals.back();
  return std::shared_ptr<const Prepared>(std::move(made));
}

Try<void> CublasLt::Run(Context& context, const Prepared& prepared) {
  const MatmulCall& call = prepared.call;
  const float alpha = static_cast<float>(call.alpha), beta = static_cast<float>(call.beta);
  const bool wide = call.compute == MatmulCompute::kF64;
  HONE_LT("Matmul", matmul, handle_, prepared.description,
          wide ? static_cast<const void*>(&call.alpha) : static_cast<const void*>(&alpha), call.b.at,
          prepared.layouts[0], call.a.at, prepared.layouts[1],
          wide ? static_cast<const void*>(&call.beta) : static_cast<const void*>(&beta),
          call.beta != 0 ? call.c.at : call.d.at, prepared.layouts[2], call.d.at, prepared.layouts[3],
          &prepared.chosen.algorithm, call.workspace, static_cast<std::size_t>(call.workspace_bytes), context.stream());
  return {};
}

}  // namespace hone::cuda
