#include "target/cuda/cublas_lt.h"

#include <utility>

#include "target/cuda/library_calls.h"
#include "target/cuda/library_types.h"

namespace hone::cuda {
namespace {

hone_library::Matrix Layout(const DeviceMatrix& matrix) {
  return {LibraryType(matrix.dtype), matrix.strides, matrix.batch_stride};
}

}  // namespace

struct CublasLt::Api : hone_library::CublasLt {};

class CublasLt::Prepared {
 public:
  hone_library::MatmulMemory memory;
  hone_library::CublasLt::Matmul matmul;
};

CublasLt::CublasLt(std::unique_ptr<Api> api) : api_(std::move(api)) {}

CublasLt::~CublasLt() = default;

Try<std::unique_ptr<CublasLt>> CublasLt::Open(const std::string& path) {
  const auto library = SharedLibrary::Open({&path, 1});
  if (!library) return tl::unexpected<Failure>(Failure{-1, library.error().message});
  auto api = std::make_unique<Api>();
  HONE_LIBRARY(api->Open(library->Finder()), path + ": ");
  return std::unique_ptr<CublasLt>(new CublasLt(std::move(api)));
}

Try<std::shared_ptr<const CublasLt::Prepared>> CublasLt::Prepare(const MatmulCall& call) {
  auto made = std::make_shared<Prepared>();
  made->memory = {call.a.at, call.b.at, call.c.at, call.d.at, call.bias, call.workspace};
  const hone_library::MatmulSpec spec{call.m,
                                      call.n,
                                      call.k,
                                      call.batch,
                                      Layout(call.a),
                                      Layout(call.b),
                                      Layout(call.c),
                                      Layout(call.d),
                                      call.bias != 0,
                                      LibraryComputeOf(call.compute),
                                      LibraryEnd(call.activation),
                                      call.alpha,
                                      call.beta,
                                      call.algorithm,
                                      static_cast<std::size_t>(call.workspace_bytes)};
  HONE_LIBRARY(api_->Describe(spec, made->memory, made->matmul), "");
  return std::shared_ptr<const Prepared>(std::move(made));
}

Try<void> CublasLt::Run(Context& context, const Prepared& prepared) {
  HONE_LIBRARY(api_->Run(prepared.matmul, prepared.memory, context.stream()), "");
  return {};
}

}  // namespace hone::cuda
