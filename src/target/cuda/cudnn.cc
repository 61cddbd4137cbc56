#include "target/cuda/cudnn.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "target/cuda/shared_library.h"

namespace hone::cuda {
namespace {

// The part of the library's C interface that we use, as its documentation declares it. Every call gives a status, an
// int; 0 is success.
struct Proposal {
  int algorithm;
  int status;
  float milliseconds;
  std::size_t workspace_bytes;
  int deterministic;
  int math;
  int reserved[3];
};
constexpr int kRowsFormat = 0, kChannelsLastFormat = 1;
constexpr int kCrossCorrelation = 1;  // what everyone calls a convolution
constexpr int kDefaultMath = 0, kTensorOpMath = 1, kConvertingMath = 2, kFmaMath = 3;
constexpr int kImplicitPrecomputed = 1;  // the one algorithm that adds a bias without an activation
constexpr int kRelu = 1, kIdentity = 5, kPropagateNan = 1;
constexpr int kMostProposals = 16;

int TypeOf(DType dtype) { return dtype == DType::kF64 ? 1 : dtype == DType::kF16 ? 2 : dtype == DType::kBF16 ? 9 : 0; }

std::vector<int> Ints(const std::vector<std::int64_t>& values) { return {values.begin(), values.end()}; }

}  // namespace

struct Cudnn::Api {
  int (*create)(void** handle);
  int (*destroy)(void* handle);
  int (*set_stream)(void* handle, void* stream);
  int (*tensor_create)(void** tensor);
  int (*tensor_destroy)(void* tensor);
  int (*tensor_set)(void* tensor, int type, int rank, const int* shape, const int* strides);
  int (*filter_create)(void** filter);
  int (*filter_destroy)(void* filter);
  int (*filter_set)(void* filter, int type, int format, int rank, const int* shape);
  int (*convolution_create)(void** convolution);
  int (*convolution_destroy)(void* convolution);
  int (*convolution_set)(void* convolution, int rank, const int* padding, const int* stride, const int* dilation,
                         int mode, int compute);
  int (*convolution_math)(void* convolution, int math);
  int (*convolution_groups)(void* convolution, int groups);
  int (*activation_create)(void** activation);
  int (*activation_destroy)(void* activation);
  int (*activation_set)(void* activation, int mode, int nan, double coefficient);
  int (*propose)(void* handle, void* x, void* w, void* convolution, void* y, int wanted, int* count,
                 Proposal* proposals);
  int (*propose_transposed)(void* handle, void* w, void* x, void* convolution, void* y, int wanted, int* count,
                            Proposal* proposals);
  int (*convolve)(void* handle, const void* alpha, void* x_layout, Address x, void* w_layout, Address w,
                  void* convolution, int algorithm, Address workspace, std::size_t workspace_bytes, const void* beta,
                  void* y_layout, Address y);
  int (*convolve_transposed)(void* handle, const void* alpha, void* w_layout, Address w, void* x_layout, Address x,
                             void* convolution, int algorithm, Address workspace, std::size_t workspace_bytes,
                             const void* beta, void* y_layout, Address y);
  int (*convolve_and_activate)(void* handle, const void* alpha, void* x_layout, Address x, void* w_layout, Address w,
                               void* convolution, int algorithm, Address workspace, std::size_t workspace_bytes,
                               const void* beta, void* z_layout, Address z, void* bias_layout, Address bias,
                               void* activation, void* y_layout, Address y);
  const char* (*status_name)(int status);

  tl::unexpected<Failure> Failed(std::string_view call, int status) const {
    return tl::unexpected<Failure>(Failure{-1, fmt::format("cudnn{}: {}", call, status_name(status))});
  }
};

#define HONE_DNN(name, call, ...)                                                        \
  do {                                                                                   \
    if (const int status_ = api_->call(__VA_ARGS__)) return api_->Failed(name, status_); \
  } while (false)

class Cudnn::Prepared {
 public:
  explicit Prepared(const Api& api) : api_(api) {}
  ~Prepared() {
    for (void* tensor : {x, y, bias}) {
      if (tensor != nullptr) api_.tensor_destroy(tensor);
    }
    if (w != nullptr) api_.filter_destroy(w);
    if (convolution != nullptr) api_.convolution_destroy(convolution);
    if (activation != nullptr) api_.activation_destroy(activation);
  }
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;

  ConvolutionCall call;
  void *x = nullptr, *y = nullptr, *bias = nullptr, *w = nullptr, *convolution = nullptr, *activation = nullptr;
  Proposal chosen{};

 private:
  const Api& api_;
};

Cudnn::Cudnn(std::unique_ptr<Api> api) : api_(std::move(api)) {}

Cudnn::~Cudnn() {
  if (handle_ != nullptr) api_->destroy(handle_);
}

Try<std::unique_ptr<Cudnn>> Cudnn::Open(const std::string& path, const std::vector<std::string>& beside) {
  for (const auto& other : beside) static_cast<void>(SharedLibrary::Open({&other, 1}));
  const auto library = SharedLibrary::Open({&path, 1});
  if (!library) return tl::unexpected<Failure>(Failure{-1, library.error().message});
  auto api = std::make_unique<Api>();
  const auto load = [&](const char* symbol, auto*& function) { return library->Load(symbol, function); };
  const bool all = load("cudnnCreate", api->create) && load("cudnnDestroy", api->destroy) &&
                   load("cudnnSetStream", api->set_stream) && load("cudnnCreateTensorDescriptor", api->tensor_create) &&
                   load("cudnnDestroyTensorDescriptor", api->tensor_destroy) &&
                   load("cudnnSetTensorNdDescriptor", api->tensor_set) &&
                   load("cudnnCreateFilterDescriptor", api->filter_create) &&
                   load("cudnnDestroyFilterDescriptor", api->filter_destroy) &&
                   load("cudnnSetFilterNdDescriptor", api->filter_set) &&
                   load("cudnnCreateConvolutionDescriptor", api->convolution_create) &&
                   load("cudnnDestroyConvolutionDescriptor", api->convolution_destroy) &&
                   load("cudnnSetConvolutionNdDescriptor", api->convolution_set) &&
                   load("cudnnSetConvolutionMathType", api->convolution_math) &&
                   load("cudnnSetConvolutionGroupCount", api->convolution_groups) &&
                   load("cudnnCreateActivationDescriptor", api->activation_create) &&
                   load("cudnnDestroyActivationDescriptor", api->activation_destroy) &&
                   load("cudnnSetActivationDescriptor", api->activation_set) &&
                   load("cudnnGetConvolutionForwardAlgorithm_v7", api->propose) &&
                   load("cudnnGetConvolutionBackwardDataAlgorithm_v7", api->propose_transposed) &&
                   load("cudnnConvolutionForward", api->convolve) &&
                   load("cudnnConvolutionBackwardData", api->convolve_transposed) &&
                   load("cudnnConvolutionBiasActivationForward", api->convolve_and_activate) &&
                   load("cudnnGetErrorString", api->status_name);
  if (!all) {
    return tl::unexpected<Failure>(
        Failure{-1, fmt::format("{} has not all of cuDNN 9's convolutions: install cuDNN 9", path)});
  }
  auto made = std::unique_ptr<Cudnn>(new Cudnn(std::move(api)));
  auto& api_ = made->api_;
  HONE_DNN("Create", create, &made->handle_);
  return made;
}

Try<std::shared_ptr<const Cudnn::Prepared>> Cudnn::Prepare(const ConvolutionCall& call) {
  auto made = std::make_shared<Prepared>(*api_);
  made->call = call;
  ConvolutionCall& of = made->call;
  // The library knows no images of one dimension: they become rows.
  if (of.stride.size() == 1) {
    for (DeviceTensor* tensor : {&of.x, &of.w, &of.y}) {
      tensor->shape.insert(tensor->shape.begin() + 2, 1);
      tensor->strides.insert(tensor->strides.begin() + 2, tensor->strides[2] * tensor->shape[3]);
    }
    of.stride.insert(of.stride.begin(), 1);
    of.padding.insert(of.padding.begin(), 0);
    of.dilation.insert(of.dilation.begin(), 1);
  }
  const int rank = static_cast<int>(of.x.shape.size());
  const auto describe = [&](void*& to, const DeviceTensor& tensor) {
    const int status = api_->tensor_create(&to);
    if (status != 0) return status;
    return api_->tensor_set(to, TypeOf(tensor.dtype), rank, Ints(tensor.shape).data(), Ints(tensor.strides).data());
  };
  int status = describe(made->x, of.x);
  if (status == 0) status = describe(made->y, of.y);
  if (status != 0) return api_->Failed("SetTensorNdDescriptor", status);
  HONE_DNN("CreateFilterDescriptor", filter_create, &made->w);
  const bool last = of.w.shape[1] > 1 && of.w.strides[1] == 1 && of.w.strides.back() != 1;
  HONE_DNN("SetFilterNdDescriptor", filter_set, made->w, TypeOf(of.w.dtype), last ? kChannelsLastFormat : kRowsFormat,
           rank, Ints(of.w.shape).data());
  HONE_DNN("CreateConvolutionDescriptor", convolution_create, &made->convolution);
  const bool wide = of.x.dtype == DType::kF64, exact = of.x.dtype == DType::kF32 && of.compute == LibraryCompute::kF32;
  HONE_DNN("SetConvolutionNdDescriptor", convolution_set, made->convolution, rank - 2, Ints(of.padding).data(),
           Ints(of.stride).data(), Ints(of.dilation).data(), kCrossCorrelation,
           TypeOf(wide ? DType::kF64 : DType::kF32));
  const bool halves = of.x.dtype == DType::kF16 || of.x.dtype == DType::kBF16;
  HONE_DNN("SetConvolutionMathType", convolution_math, made->convolution,
           halves  ? kTensorOpMath
           : exact ? kFmaMath
                   : kDefaultMath);
  HONE_DNN("SetConvolutionGroupCount", convolution_groups, made->convolution, static_cast<int>(of.groups));
  const bool ends = of.bias != 0 || of.activation != Activation::kNone;
  if (ends) {
    HONE_DNN("CreateActivationDescriptor", activation_create, &made->activation);
    HONE_DNN("SetActivationDescriptor", activation_set, made->activation,
             of.activation == Activation::kRelu ? kRelu : kIdentity, kPropagateNan, 0.0);
    DeviceTensor bias{of.bias, of.y.dtype, std::vector<std::int64_t>(static_cast<std::size_t>(rank), 1), {}};
    bias.shape[1] = of.y.shape[1];
    bias.strides.assign(static_cast<std::size_t>(rank), 1);
    bias.strides[0] = of.y.shape[1];
    status = describe(made->bias, bias);
    if (status != 0) return api_->Failed("SetTensorNdDescriptor", status);
  }

  std::vector<Proposal> proposals(kMostProposals);
  int count = 0;
  if (of.transposed) {
    HONE_DNN("GetConvolutionBackwardDataAlgorithm_v7", propose_transposed, handle_, made->w, made->x, made->convolution,
             made->y, kMostProposals, &count, proposals.data());
  } else {
    HONE_DNN("GetConvolutionForwardAlgorithm_v7", propose, handle_, made->x, made->w, made->convolution, made->y,
             kMostProposals, &count, proposals.data());
  }
  proposals.resize(static_cast<std::size_t>(std::clamp(count, 0, kMostProposals)));
  std::erase_if(proposals, [&](const Proposal& one) {
    return one.status != 0 || one.workspace_bytes > static_cast<std::size_t>(of.workspace_bytes) ||
           one.math == kConvertingMath ||
           (ends && of.activation == Activation::kNone && one.algorithm != kImplicitPrecomputed);
  });
  if (proposals.size() <= static_cast<std::size_t>(of.algorithm)) {
    return tl::unexpected<Failure>(Failure{
        -1, fmt::format("cuDNN has {} ways to do this convolution in {} bytes of workspace, there is no number {}",
                        proposals.size(), of.workspace_bytes, of.algorithm)});
  }
  made->chosen = proposals[static_cast<std::size_t>(of.algorithm)];
  // Where products in f32 are asked for, no proposal changes that.
  if (!exact) HONE_DNN("SetConvolutionMathType", convolution_math, made->convolution, made->chosen.math);
  return std::shared_ptr<const Prepared>(std::move(made));
}

Try<void> Cudnn::Run(Context& context, const Prepared& prepared) {
  const ConvolutionCall& call = prepared.call;
  const float one = 1, zero = 0;
  const double wide_one = 1, wide_zero = 0;
  const bool wide = call.x.dtype == DType::kF64;
  const void* alpha = wide ? static_cast<const void*>(&wide_one) : &one;
  const void* beta = wide ? static_cast<const void*>(&wide_zero) : &zero;
  const auto bytes = static_cast<std::size_t>(call.workspace_bytes);
  HONE_DNN("SetStream", set_stream, handle_, context.stream());
  if (call.transposed) {
    HONE_DNN("ConvolutionBackwardData", convolve_transposed, handle_, alpha, prepared.w, call.w.at, prepared.x,
             call.x.at, prepared.convolution, prepared.chosen.algorithm, call.workspace, bytes, beta, prepared.y,
             call.y.at);
  } else if (prepared.activation != nullptr) {
    HONE_DNN("ConvolutionBiasActivationForward", convolve_and_activate, handle_, alpha, prepared.x, call.x.at,
             prepared.w, call.w.at, prepared.convolution, prepared.chosen.algorithm, call.workspace, bytes, beta,
             prepared.y, call.y.at, prepared.bias, call.bias, prepared.activation, prepared.y, call.y.at);
  } else {
    HONE_DNN("ConvolutionForward", convolve, handle_, alpha, prepared.x, call.x.at, prepared.w, call.w.at,
             prepared.convolution, prepared.chosen.algorithm, call.workspace, bytes, beta, prepared.y, call.y.at);
  }
  return {};
}

}  // namespace hone::cuda
