// A convolution of few input channels as a product of pixels x terms with terms x outputs, whose left operand is nowhere
// written: a term is an element of a pixel's window, and lies in a patch of the input in shared memory, where a window
// begins. dsl/cuda/ways/conv_patch.cc says how a block goes, and gives SHAPE: what it is a convolution of, how its work is
// cut, and where what lies in shared memory. Uses mma.cuh or
// mma_tf32.cuh.

struct alignas(8) TwoWords {
  unsigned x, y;
};
struct alignas(8) TwoPlaces {
  int x, y;
};

// In one piece: compilers store halves one by one where they do not see that many lie in a line.
template <class P>
__device__ __forceinline__ void StoreWhole(P* to, const P& pack) {
#ifdef __CUDA_ARCH__
  if constexpr (sizeof(P) == 16) {
    const uint4 words = *reinterpret_cast<const uint4*>(&pack);
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(words.x), "r"(words.y), "r"(words.z), "r"(words.w)
                 : "memory");
    return;
  }
  if constexpr (sizeof(P) == 8) {
    const uint2 words = *reinterpret_cast<const uint2*>(&pack);
    asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(to), "r"(words.x), "r"(words.y) : "memory");
    return;
  }
#endif
  *to = pack;
}

template <class S>
struct Patch {
  using Held = typename S::Held;                        // f32, of TF32's accuracy, or the bits of a half
  static constexpr int kDepth = 32 / sizeof(Held);      // terms of a step of the product
  static constexpr int kNeighbours = 4 / sizeof(Held);  // terms of a word
  static constexpr int kTerms = S::kWindowZ * S::kWindowY * S::kWindowX * S::kChannelsHeld;
  static constexpr int kSteps = (kTerms + kDepth - 1) / kDepth;
  static constexpr int kTiles = S::kPart / 8;  // of eight outputs each
  static constexpr int kWarpPixels = 16 * S::kWarpTiles;
  static constexpr int kStaged = 8 * S::kStagedTiles;  // outputs whose sums a warp turns at a time
  // From a channel to the next, and from a column to the next, in elements of the patch.
  static constexpr int kAlong = S::kFloats ? S::kPlane : 1;
  static constexpr int kAcross = S::kFloats ? 1 : S::kChannelsHeld;

  TwoWords* const weights;  // [part, step, tile, thread of a warp]
  TwoPlaces* const places;  // [step, thread of four]: where the terms of its two words are, from a window's first on
  Held* const patch;        // f32: [channel, plane, line, column]; halves: [plane, line, column, channel]
  float* const sums;        // of this warp
  const int lane;
  int from[S::kWarpTiles][2];  // where the windows of this thread's pixels begin

  __device__ explicit Patch(unsigned char* memory)
      : weights(reinterpret_cast<TwoWords*>(memory)),
        places(reinterpret_cast<TwoPlaces*>(memory + S::kPlacesAt)),
        patch(reinterpret_cast<Held*>(memory + S::kPatchAt)),
        sums(reinterpret_cast<float*>(memory + S::kSumsAt) + threadIdx.x / 32 * S::kSumsOfWarp),
        lane(threadIdx.x % 32) {
    for (int i = threadIdx.x; i < kSteps * 4; i += S::kThreads) {
      const int term = i / 4 * kDepth + i % 4 * kNeighbours;
      places[i].x = PlaceOf(term);
      places[i].y = PlaceOf(term + kDepth / 2);
    }
#pragma unroll
    for (int m = 0; m < S::kWarpTiles; ++m) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        int pixel = threadIdx.x / 32 * kWarpPixels + m * 16 + lane / 4 + half * 8;
        if (pixel >= S::kRows * S::kStrip) pixel = 0;  // nobody's
        from[m][half] =
            (pixel / S::kStrip * S::kStrideY * S::kWide + pixel % S::kStrip * S::kStrideX + S::kShift) * kAcross;
      }
    }
  }
  static __device__ int PlaceOf(int term) {
    if (term >= kTerms) return 0;
    const int tap = term / S::kChannelsHeld;
    const int x = tap % S::kWindowX, y = tap / S::kWindowX % S::kWindowY, z = tap / (S::kWindowX * S::kWindowY);
    return term % S::kChannelsHeld * kAlong +
           ((z * S::kLines + y * S::kDilationY) * S::kWide + x * S::kDilationX) * kAcross;
  }

  // weight(output, channel, z, y, x)
  template <class Weight>
  __device__ void PutWeights(const Weight& weight) {
    Held* const to = reinterpret_cast<Held*>(weights);
#pragma unroll 8
    for (int i = threadIdx.x; i < S::kParts * kSteps * kTiles * 64 * kNeighbours; i += S::kThreads) {
      const int word = i / kNeighbours, thread = word / 2 % 32, number = word / 64;
      const int made = (number / (kSteps * kTiles) * kTiles + number % kTiles) * 8 + thread / 4;
      const int term = number / kTiles % kSteps * kDepth + (thread % 4 + word % 2 * 4) * kNeighbours + i % kNeighbours;
      const int tap = term / S::kChannelsHeld, channel = term % S::kChannelsHeld;
      Held of = 0;
      if (made < S::kMade && term < kTerms && channel < S::kChannels)
        of = weight(made, channel, tap / (S::kWindowX * S::kWindowY), tap / S::kWindowX % S::kWindowY, tap % S::kWindowX);
      to[i] = of;
    }
  }

  // Neighbours in a line of the image that are read as one.
  struct alignas(S::kLoad * sizeof(Held)) Neighbours {
    Held at[S::kLoad];
  };
  // element(channel, plane, line, column): neighbours from there on, zeros outside of the image. A thread has all their
  // channels.
  template <class Element>
  __device__ void PutPatch(const Element& element) {
    constexpr int kOfLine = S::kWide / S::kLoad, kAll = S::kWindowZ * S::kLines * kOfLine;
    constexpr int kAtOnce = S::kChannels * sizeof(Neighbours) > 32 ? 1 : 2;
    for (int first = threadIdx.x; first < kAll; first += kAtOnce * S::kThreads) {
      Neighbours held[kAtOnce][S::kChannels];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const int item = first + i * S::kThreads;
        if (item >= kAll) break;
#pragma unroll
        for (int channel = 0; channel < S::kChannels; ++channel)
          held[i][channel] = element(channel, item / kOfLine / S::kLines, item / kOfLine % S::kLines,
                                     item % kOfLine * S::kLoad);
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const int item = first + i * S::kThreads;
        if (item < kAll) Keep(held[i], item * S::kLoad * kAcross);
      }
    }
  }
  __device__ void Keep(const Neighbours (&held)[S::kChannels], int place) {
    if constexpr (S::kFloats) {
#pragma unroll
      for (int channel = 0; channel < S::kChannels; ++channel)
        *reinterpret_cast<Neighbours*>(patch + channel * kAlong + place) = held[channel];
    } else {
      constexpr int kWords = S::kLoad * S::kChannelsHeld / 2;
      struct alignas(kWords % 4 == 0 ? 16 : kWords % 2 == 0 ? 8 : 4) Words {
        unsigned at[kWords];
      } words;
#pragma unroll
      for (int w = 0; w < kWords; ++w) {
        const int of = w / (S::kChannelsHeld / 2), channel = w % (S::kChannelsHeld / 2) * 2;
        const unsigned upper = channel + 1 < S::kChannels ? held[channel + 1 < S::kChannels ? channel + 1 : 0].at[of] : 0;
        words.at[w] = held[channel].at[of] | upper << 16;
      }
      *reinterpret_cast<Words*>(patch + place) = words;
    }
  }

  __device__ unsigned WordAt(int place) const { return *reinterpret_cast<const unsigned*>(patch + place); }

  // put(output, row, column, sums): of kPack neighbours.
  template <class Put>
  __device__ void Multiply(const Put& put) {
#pragma unroll 1
    for (int part = 0; part < S::kParts; ++part) {
      float of[S::kWarpTiles][kTiles][4] = {};
#pragma unroll S::kUnrolled
      for (int step = 0; step < kSteps; ++step) {
        const TwoPlaces at = places[step * 4 + lane % 4];
        unsigned a[S::kWarpTiles][4];
#pragma unroll
        for (int m = 0; m < S::kWarpTiles; ++m) {
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            a[m][half] = WordAt(from[m][half] + at.x);
            a[m][2 + half] = WordAt(from[m][half] + at.y);
          }
        }
        if (kTerms % kDepth != 0 && step == kSteps - 1) {
          // Of terms that are none there may be anything.
          const int term = step * kDepth + lane % 4 * kNeighbours;
#pragma unroll
          for (int m = 0; m < S::kWarpTiles; ++m) {
            if (term >= kTerms) a[m][0] = a[m][1] = 0;
            if (term + kDepth / 2 >= kTerms) a[m][2] = a[m][3] = 0;
          }
        }
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile) {
          const TwoWords b = weights[((part * kSteps + step) * kTiles + tile) * 32 + lane];
#pragma unroll
          for (int m = 0; m < S::kWarpTiles; ++m) MultiplyAdd<typename S::Type>(of[m][tile], a[m], b.x, b.y);
        }
      }
      Turn(part, of, put);
    }
  }

  static __device__ int SumAt(int pixel, int made) {
    return S::kResultLast ? pixel * (kStaged + 8) + made : made * (kWarpPixels + 4) + pixel;
  }
  // Through shared memory, so that neighbouring threads write neighbours.
  template <class Put>
  __device__ void Turn(int part, const float (&of)[S::kWarpTiles][kTiles][4], const Put& put) {
#pragma unroll
    for (int first = 0; first < kTiles; first += S::kStagedTiles) {
      __syncwarp();
#pragma unroll
      for (int tile = 0; tile < S::kStagedTiles && first + tile < kTiles; ++tile) {
#pragma unroll
        for (int m = 0; m < S::kWarpTiles; ++m) {
#pragma unroll
          for (int i = 0; i < 4; ++i)
            sums[SumAt(m * 16 + lane / 4 + i / 2 * 8, tile * 8 + lane % 4 * 2 + i % 2)] = of[m][first + tile][i];
        }
      }
      __syncwarp();
      for (int e = lane * S::kPack; e < kWarpPixels * kStaged; e += 32 * S::kPack) {
        const int pixel = S::kResultLast ? e / kStaged : e % kWarpPixels;
        const int made = S::kResultLast ? e % kStaged : e / kWarpPixels;
        const int output = part * S::kPart + first * 8 + made;
        const int of_block = threadIdx.x / 32 * kWarpPixels + pixel;
        if (first * 8 + made >= S::kPart || output >= S::kMade || of_block >= S::kRows * S::kStrip) continue;
        float finished[S::kPack];
#pragma unroll
        for (int v = 0; v < S::kPack; ++v)
          finished[v] = sums[S::kResultLast ? SumAt(pixel, made + v) : SumAt(pixel + v, made)];
        put(output, of_block / S::kStrip, of_block % S::kStrip, finished);
      }
    }
  }
};
