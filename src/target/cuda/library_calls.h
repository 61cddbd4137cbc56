// Calls of cuDNN and cuBLASLt through the part of their C interfaces that we use, as their documentation declares it.
// Compiled into hone and, word for word, part of exported kernels that call these libraries: it knows the C++17 library
// and nothing of hone. Nothing throws: what fails is a Status with the library's own words. For one context and thread,
// like the libraries' handles.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace hone_library {

using Address = unsigned long long;                     // in device memory
using Find = std::function<void*(const char* symbol)>;  // a function of an opened library; null if it lacks that

struct Status {
  std::string error;  // one line; empty: it went well
  bool out_of_memory = false;
  bool failed() const { return !error.empty(); }
};

enum Type { kF32, kF16, kBF16, kF64 };
enum Compute { kInF32, kInTf32, kInF16, kInBf16, kInF64 };  // what products of f32 are made in
enum End { kNoEnd, kRelu, kGelu };                          // gelu is the form with tanh

inline bool Loaded(const Find& find, const char* symbol, void** function) {
  *function = find(symbol);
  return *function != nullptr;
}

#define HONE_LOAD(symbol, function) hone_library::Loaded(find, symbol, reinterpret_cast<void**>(&function))
#define HONE_CALL(name, function, ...)                                                \
  do {                                                                                \
    if (const int status_ = api_.function(__VA_ARGS__)) return Failed(name, status_); \
  } while (false)

// --- cuDNN: y = end(conv(x, w) + bias), one to three spatial dimensions.

struct Tensor {  // [batch, channels, spatial..]; strides in elements
  Type type;
  std::vector<int> shape, strides;
};
struct ConvolutionSpec {
  Tensor x, w, y;                              // w is dense, or dense with its channels last
  std::vector<int> stride, padding, dilation;  // one a spatial dimension
  int groups;
  bool transposed, bias;
  Compute compute;
  End end;
  int algorithm;  // which of the library's proposals that fit the workspace, its best first
  std::size_t workspace_bytes;
};
struct ConvolutionMemory {
  Address x, w, y, bias, workspace;  // 0 where the spec has none
};

class Cudnn {
 public:
  Cudnn() = default;
  ~Cudnn() {
    if (handle_ != nullptr) api_.destroy(handle_);
  }
  Cudnn(const Cudnn&) = delete;
  Cudnn& operator=(const Cudnn&) = delete;

  Status Open(const Find& find) {
    const bool all = HONE_LOAD("cudnnCreate", api_.create) && HONE_LOAD("cudnnDestroy", api_.destroy) &&
                     HONE_LOAD("cudnnSetStream", api_.set_stream) &&
                     HONE_LOAD("cudnnCreateTensorDescriptor", api_.tensor_create) &&
                     HONE_LOAD("cudnnDestroyTensorDescriptor", api_.tensor_destroy) &&
                     HONE_LOAD("cudnnSetTensorNdDescriptor", api_.tensor_set) &&
                     HONE_LOAD("cudnnCreateFilterDescriptor", api_.filter_create) &&
                     HONE_LOAD("cudnnDestroyFilterDescriptor", api_.filter_destroy) &&
                     HONE_LOAD("cudnnSetFilterNdDescriptor", api_.filter_set) &&
                     HONE_LOAD("cudnnCreateConvolutionDescriptor", api_.convolution_create) &&
                     HONE_LOAD("cudnnDestroyConvolutionDescriptor", api_.convolution_destroy) &&
                     HONE_LOAD("cudnnSetConvolutionNdDescriptor", api_.convolution_set) &&
                     HONE_LOAD("cudnnSetConvolutionMathType", api_.convolution_math) &&
                     HONE_LOAD("cudnnSetConvolutionGroupCount", api_.convolution_groups) &&
                     HONE_LOAD("cudnnCreateActivationDescriptor", api_.activation_create) &&
                     HONE_LOAD("cudnnDestroyActivationDescriptor", api_.activation_destroy) &&
                     HONE_LOAD("cudnnSetActivationDescriptor", api_.activation_set) &&
                     HONE_LOAD("cudnnGetConvolutionForwardAlgorithm_v7", api_.propose) &&
                     HONE_LOAD("cudnnGetConvolutionBackwardDataAlgorithm_v7", api_.propose_transposed) &&
                     HONE_LOAD("cudnnConvolutionForward", api_.convolve) &&
                     HONE_LOAD("cudnnConvolutionBackwardData", api_.convolve_transposed) &&
                     HONE_LOAD("cudnnConvolutionBiasActivationForward", api_.convolve_and_activate) &&
                     HONE_LOAD("cudnnGetErrorString", api_.status_name);
    if (!all) return {"the library has not all of cuDNN 9's convolutions: install cuDNN 9"};
    HONE_CALL("Create", create, &handle_);
    return {};
  }

  struct Proposal {
    int algorithm;
    int status;
    float milliseconds;
    std::size_t workspace_bytes;
    int deterministic;
    int math;
    int reserved[3];
  };

  // A convolution that is described and decided, to be asked for as often as one likes. The library outlives it.
  class Convolution {
   public:
    Convolution() = default;
    ~Convolution() {
      for (void* tensor : {x_, y_, bias_}) {
        if (tensor != nullptr) of_->api_.tensor_destroy(tensor);
      }
      if (w_ != nullptr) of_->api_.filter_destroy(w_);
      if (convolution_ != nullptr) of_->api_.convolution_destroy(convolution_);
      if (activation_ != nullptr) of_->api_.activation_destroy(activation_);
    }
    Convolution(const Convolution&) = delete;
    Convolution& operator=(const Convolution&) = delete;

   private:
    friend class Cudnn;
    Cudnn* of_ = nullptr;
    ConvolutionSpec spec_;
    void *x_ = nullptr, *y_ = nullptr, *bias_ = nullptr, *w_ = nullptr, *convolution_ = nullptr, *activation_ = nullptr;
    Proposal chosen_{};
  };

  // What the library cannot do fails with its own words for it.
  Status Describe(const ConvolutionSpec& spec, const ConvolutionMemory&, Convolution& made) {
    made.of_ = this;
    made.spec_ = spec;
    ConvolutionSpec& of = made.spec_;
    // The library knows no images of one dimension: they become rows.
    if (of.stride.size() == 1) {
      for (Tensor* tensor : {&of.x, &of.w, &of.y}) {
        tensor->shape.insert(tensor->shape.begin() + 2, 1);
        tensor->strides.insert(tensor->strides.begin() + 2, tensor->strides[2] * tensor->shape[3]);
      }
      of.stride.insert(of.stride.begin(), 1);
      of.padding.insert(of.padding.begin(), 0);
      of.dilation.insert(of.dilation.begin(), 1);
    }
    const int rank = static_cast<int>(of.x.shape.size());
    const auto describe = [&](void*& to, const Tensor& tensor) {
      const int status = api_.tensor_create(&to);
      if (status != 0) return status;
      return api_.tensor_set(to, TypeOf(tensor.type), rank, tensor.shape.data(), tensor.strides.data());
    };
    int status = describe(made.x_, of.x);
    if (status == 0) status = describe(made.y_, of.y);
    if (status != 0) return Failed("SetTensorNdDescriptor", status);
    HONE_CALL("CreateFilterDescriptor", filter_create, &made.w_);
    const bool last = of.w.shape[1] > 1 && of.w.strides[1] == 1 && of.w.strides.back() != 1;
    HONE_CALL("SetFilterNdDescriptor", filter_set, made.w_, TypeOf(of.w.type), last ? kChannelsLastFormat : kRowsFormat,
              rank, of.w.shape.data());
    HONE_CALL("CreateConvolutionDescriptor", convolution_create, &made.convolution_);
    const bool exact = of.x.type == kF32 && of.compute == kInF32;
    HONE_CALL("SetConvolutionNdDescriptor", convolution_set, made.convolution_, rank - 2, of.padding.data(),
              of.stride.data(), of.dilation.data(), kCrossCorrelation, TypeOf(of.x.type == kF64 ? kF64 : kF32));
    const bool halves = of.x.type == kF16 || of.x.type == kBF16;
    HONE_CALL("SetConvolutionMathType", convolution_math, made.convolution_,
              halves  ? kTensorOpMath
              : exact ? kFmaMath
                      : kDefaultMath);
    HONE_CALL("SetConvolutionGroupCount", convolution_groups, made.convolution_, of.groups);
    const bool ends = of.bias || of.end != kNoEnd;
    if (ends) {
      HONE_CALL("CreateActivationDescriptor", activation_create, &made.activation_);
      HONE_CALL("SetActivationDescriptor", activation_set, made.activation_,
                of.end == hone_library::kRelu ? kReluMode : kIdentityMode, kPropagateNan, 0.0);
      const int channels = of.y.shape[1];
      Tensor bias{of.y.type, std::vector<int>(static_cast<std::size_t>(rank), 1),
                  std::vector<int>(static_cast<std::size_t>(rank), 1)};
      bias.shape[1] = bias.strides[0] = channels;
      status = describe(made.bias_, bias);
      if (status != 0) return Failed("SetTensorNdDescriptor", status);
    }

    std::vector<Proposal> proposals(kMostProposals);
    int count = 0;
    if (of.transposed) {
      HONE_CALL("GetConvolutionBackwardDataAlgorithm_v7", propose_transposed, handle_, made.w_, made.x_,
                made.convolution_, made.y_, kMostProposals, &count, proposals.data());
    } else {
      HONE_CALL("GetConvolutionForwardAlgorithm_v7", propose, handle_, made.x_, made.w_, made.convolution_, made.y_,
                kMostProposals, &count, proposals.data());
    }
    proposals.resize(static_cast<std::size_t>(std::clamp(count, 0, kMostProposals)));
    const auto unfit = [&](const Proposal& one) {
      return one.status != 0 || one.workspace_bytes > of.workspace_bytes || one.math == kConvertingMath ||
             (ends && of.end == kNoEnd && one.algorithm != kImplicitPrecomputed);
    };
    proposals.erase(std::remove_if(proposals.begin(), proposals.end(), unfit), proposals.end());
    if (proposals.size() <= static_cast<std::size_t>(of.algorithm)) {
      return {"cuDNN has " + std::to_string(proposals.size()) + " ways to do this convolution in " +
              std::to_string(of.workspace_bytes) + " bytes of workspace, there is no number " +
              std::to_string(of.algorithm)};
    }
    made.chosen_ = proposals[static_cast<std::size_t>(of.algorithm)];
    // Where products in f32 are asked for, no proposal changes that.
    if (!exact) HONE_CALL("SetConvolutionMathType", convolution_math, made.convolution_, made.chosen_.math);
    return {};
  }

  // On the stream; returns before it is done. May be captured into a graph after it has run once.
  Status Run(const Convolution& of, const ConvolutionMemory& at, void* stream) {
    const float one = 1, zero = 0;
    const double wide_one = 1, wide_zero = 0;
    const bool wide = of.spec_.x.type == kF64;
    const void* alpha = wide ? static_cast<const void*>(&wide_one) : &one;
    const void* beta = wide ? static_cast<const void*>(&wide_zero) : &zero;
    HONE_CALL("SetStream", set_stream, handle_, stream);
    if (of.spec_.transposed) {
      HONE_CALL("ConvolutionBackwardData", convolve_transposed, handle_, alpha, of.w_, at.w, of.x_, at.x,
                of.convolution_, of.chosen_.algorithm, at.workspace, of.spec_.workspace_bytes, beta, of.y_, at.y);
    } else if (of.activation_ != nullptr) {
      HONE_CALL("ConvolutionBiasActivationForward", convolve_and_activate, handle_, alpha, of.x_, at.x, of.w_, at.w,
                of.convolution_, of.chosen_.algorithm, at.workspace, of.spec_.workspace_bytes, beta, of.y_, at.y,
                of.bias_, at.bias, of.activation_, of.y_, at.y);
    } else {
      HONE_CALL("ConvolutionForward", convolve, handle_, alpha, of.x_, at.x, of.w_, at.w, of.convolution_,
                of.chosen_.algorithm, at.workspace, of.spec_.workspace_bytes, beta, of.y_, at.y);
    }
    return {};
  }

 private:
  // Every call gives a status; 0 is success.
  struct Api {
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
  };
  static constexpr int kRowsFormat = 0, kChannelsLastFormat = 1;
  static constexpr int kCrossCorrelation = 1;  // what everyone calls a convolution
  static constexpr int kDefaultMath = 0, kTensorOpMath = 1, kConvertingMath = 2, kFmaMath = 3;
  static constexpr int kImplicitPrecomputed = 1;  // the one algorithm that adds a bias without an activation
  static constexpr int kReluMode = 1, kIdentityMode = 5, kPropagateNan = 1;
  static constexpr int kMostProposals = 16;

  static int TypeOf(Type type) { return type == kF64 ? 1 : type == kF16 ? 2 : type == kBF16 ? 9 : 0; }
  Status Failed(const char* call, int status) const {
    return {std::string("cudnn") + call + ": " + api_.status_name(status)};
  }

  Api api_{};
  void* handle_ = nullptr;
};

// --- cuBLASLt: d = end(alpha a b + beta c + bias), a being [m, k] and b [k, n].

struct Matrix {  // or a batch of them; strides in elements, one of the two is 1
  Type type;
  std::array<std::int64_t, 2> strides;  // of rows, of columns
  std::int64_t batch_stride;
};
struct MatmulSpec {
  std::int64_t m, n, k, batch;
  Matrix a, b, c, d;  // c and d lie in rows; c is looked at if beta is not 0
  bool bias;          // n elements of d's type
  Compute compute;
  End end;
  double alpha, beta;
  int algorithm;  // which of the library's proposals, its best first
  std::size_t workspace_bytes;
};
struct MatmulMemory {
  Address a, b, c, d, bias, workspace;  // 0 where the spec has none
};

class CublasLt {
 public:
  CublasLt() = default;
  ~CublasLt() {
    if (handle_ != nullptr) api_.destroy(handle_);
  }
  CublasLt(const CublasLt&) = delete;
  CublasLt& operator=(const CublasLt&) = delete;

  Status Open(const Find& find) {
    const bool all = HONE_LOAD("cublasLtCreate", api_.create) && HONE_LOAD("cublasLtDestroy", api_.destroy) &&
                     HONE_LOAD("cublasLtMatmulDescCreate", api_.description_create) &&
                     HONE_LOAD("cublasLtMatmulDescDestroy", api_.description_destroy) &&
                     HONE_LOAD("cublasLtMatmulDescSetAttribute", api_.description_set) &&
                     HONE_LOAD("cublasLtMatrixLayoutCreate", api_.layout_create) &&
                     HONE_LOAD("cublasLtMatrixLayoutDestroy", api_.layout_destroy) &&
                     HONE_LOAD("cublasLtMatrixLayoutSetAttribute", api_.layout_set) &&
                     HONE_LOAD("cublasLtMatmulPreferenceCreate", api_.preference_create) &&
                     HONE_LOAD("cublasLtMatmulPreferenceDestroy", api_.preference_destroy) &&
                     HONE_LOAD("cublasLtMatmulPreferenceSetAttribute", api_.preference_set) &&
                     HONE_LOAD("cublasLtMatmulAlgoGetHeuristic", api_.propose) &&
                     HONE_LOAD("cublasLtMatmul", api_.matmul) && HONE_LOAD("cublasLtGetStatusName", api_.status_name);
    if (!all) return {"the library is older than cuBLASLt 12: install a newer"};
    HONE_CALL("Create", create, &handle_);
    return {};
  }

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

  // A product that is described and decided, to be asked for as often as one likes. The library outlives it.
  class Matmul {
   public:
    Matmul() = default;
    ~Matmul() {
      if (description_ != nullptr) of_->api_.description_destroy(description_);
      for (void* layout : layouts_) {
        if (layout != nullptr) of_->api_.layout_destroy(layout);
      }
    }
    Matmul(const Matmul&) = delete;
    Matmul& operator=(const Matmul&) = delete;

   private:
    friend class CublasLt;
    CublasLt* of_ = nullptr;
    MatmulSpec spec_{};
    void* description_ = nullptr;
    std::array<void*, 4> layouts_{};  // of what the library calls A, B, C, D
    Proposal chosen_{};
  };

  // `memory`: addresses as well aligned as those that Run will get. What the library cannot do fails with its own name
  // for it: "cublasLtMatmul: CUBLAS_STATUS_NOT_SUPPORTED".
  Status Describe(const MatmulSpec& spec, const MatmulMemory& memory, Matmul& made) {
    made.of_ = this;
    made.spec_ = spec;
    // Matrices are stored by columns there. What lies in rows is, by columns, the transpose: the library makes d' = b'
    // a'.
    const Matrix& c = spec.beta != 0 ? spec.c : spec.d;
    const Address c_at = spec.beta != 0 ? memory.c : memory.d;
    HONE_CALL("MatmulDescCreate", description_create, &made.description_, ComputeOf(spec.compute),
              TypeOf(spec.compute == kInF64 ? kF64 : kF32));
    const auto set = [&](int attribute, const auto& value) {
      return api_.description_set(made.description_, attribute, &value, sizeof value);
    };
    const std::int32_t a_turned = spec.a.strides[1] != 1, b_turned = spec.b.strides[1] != 1;
    std::uint32_t epilogue = spec.bias ? kWithBias : 0;
    if (spec.end == hone_library::kRelu) epilogue |= kWithRelu;
    if (spec.end == kGelu) epilogue |= kWithGelu;
    if (epilogue == 0) epilogue = kPlain;
    int status = set(kTransposeA, b_turned);
    if (status == 0) status = set(kTransposeB, a_turned);
    if (status == 0) status = set(kEpilogue, epilogue);
    if (status == 0 && spec.bias) status = set(kBiasPointer, memory.bias);
    if (status != 0) return Failed("MatmulDescSetAttribute", status);
    const auto layout = [&](void*& to, const Matrix& matrix, std::int64_t rows, std::int64_t columns) {
      const bool in_rows = matrix.strides[1] == 1;
      const std::int64_t least = in_rows ? columns : rows,
                         leading = std::max(in_rows ? matrix.strides[0] : matrix.strides[1], least);
      int code = api_.layout_create(&to, TypeOf(matrix.type), static_cast<std::uint64_t>(least),
                                    static_cast<std::uint64_t>(in_rows ? rows : columns), leading);
      const auto count = static_cast<std::int32_t>(spec.batch);
      if (code == 0 && spec.batch > 1) code = api_.layout_set(to, kBatchCount, &count, sizeof count);
      if (code == 0 && spec.batch > 1)
        code = api_.layout_set(to, kBatchOffset, &matrix.batch_stride, sizeof matrix.batch_stride);
      return code;
    };
    auto& layouts = made.layouts_;
    status = layout(layouts[0], spec.b, spec.k, spec.n);
    if (status == 0) status = layout(layouts[1], spec.a, spec.m, spec.k);
    if (status == 0) status = layout(layouts[2], c, spec.m, spec.n);
    if (status == 0) status = layout(layouts[3], spec.d, spec.m, spec.n);
    if (status != 0) return Failed("MatrixLayoutCreate", status);

    void* preference = nullptr;
    HONE_CALL("MatmulPreferenceCreate", preference_create, &preference);
    const auto most = static_cast<std::uint64_t>(spec.workspace_bytes);
    status = api_.preference_set(preference, kMostWorkspace, &most, sizeof most);
    const auto aligned = [&](int attribute, Address at) {
      const auto bytes = static_cast<std::uint32_t>(std::min<Address>(at & (~at + 1), 256));
      if (status == 0) status = api_.preference_set(preference, attribute, &bytes, sizeof bytes);
    };
    aligned(kAlignmentA, memory.b);
    aligned(kAlignmentB, memory.a);
    aligned(kAlignmentC, c_at);
    aligned(kAlignmentD, memory.d);
    std::vector<Proposal> proposals(static_cast<std::size_t>(spec.algorithm) + 1);
    int count = 0;
    if (status == 0) {
      status = api_.propose(handle_, made.description_, layouts[0], layouts[1], layouts[2], layouts[3], preference,
                            static_cast<int>(proposals.size()), proposals.data(), &count);
    }
    api_.preference_destroy(preference);
    if (status != 0) return Failed("MatmulAlgoGetHeuristic", status);
    if (count <= spec.algorithm) {
      return {"cuBLASLt has " + std::to_string(count) + " ways to do this product in " +
              std::to_string(spec.workspace_bytes) + " bytes of workspace, there is no number " +
              std::to_string(spec.algorithm)};
    }
    made.chosen_ = proposals.back();
    return {};
  }

  // On the stream; returns before it is done. May be captured into a graph.
  Status Run(const Matmul& of, const MatmulMemory& at, void* stream) {
    const MatmulSpec& spec = of.spec_;
    const float alpha = static_cast<float>(spec.alpha), beta = static_cast<float>(spec.beta);
    const bool wide = spec.compute == kInF64;
    if (spec.bias)
      HONE_CALL("MatmulDescSetAttribute", description_set, of.description_, kBiasPointer, &at.bias, sizeof at.bias);
    HONE_CALL("Matmul", matmul, handle_, of.description_,
              wide ? static_cast<const void*>(&spec.alpha) : static_cast<const void*>(&alpha), at.b, of.layouts_[0],
              at.a, of.layouts_[1], wide ? static_cast<const void*>(&spec.beta) : static_cast<const void*>(&beta),
              spec.beta != 0 ? at.c : at.d, of.layouts_[2], at.d, of.layouts_[3], &of.chosen_.algorithm, at.workspace,
              spec.workspace_bytes, stream);
    return {};
  }

 private:
  // Every call gives a status; 0 is success.
  struct Api {
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
  };
  enum DescriptionAttribute { kTransposeA = 3, kTransposeB = 4, kEpilogue = 7, kBiasPointer = 8 };
  enum LayoutAttribute { kBatchCount = 5, kBatchOffset = 6 };
  enum PreferenceAttribute { kMostWorkspace = 1, kAlignmentA = 5, kAlignmentB = 6, kAlignmentC = 7, kAlignmentD = 8 };
  enum Epilogue { kPlain = 1, kWithRelu = 2, kWithBias = 4, kWithGelu = 32 };
  static constexpr int kAllocationFailed = 3;

  static int TypeOf(Type type) { return type == kF64 ? 1 : type == kF16 ? 2 : type == kBF16 ? 14 : 0; }
  static int ComputeOf(Compute compute) {
    switch (compute) {
      case kInF32: return 68;
      case kInTf32: return 77;
      case kInF16: return 74;
      case kInBf16: return 75;
      case kInF64: return 70;
    }
    return 68;
  }
  Status Failed(const char* call, int status) const {
    return {std::string("cublasLt") + call + ": " + api_.status_name(status), status == kAllocationFailed};
  }

  Api api_{};
  void* handle_ = nullptr;
};

#undef HONE_LOAD
#undef HONE_CALL

}  // namespace hone_library
