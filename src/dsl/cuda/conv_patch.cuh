// A convolution of few input channels as a product of terms of windows with weights, whose operand of the image is nowhere
// written: a term is an element of a pixel's window, and lies in a patch of the input in shared memory, where a window
// begins. dsl/cuda/ways/conv_patch.cc says how a block goes, and gives SHAPE: what it is a convolution of, how its work is
// cut, and where what lies in shared memory. Uses mma.cuh or mma_tf32.cuh.

struct alignas(8) TwoWords {
  unsigned x, y;
};
struct alignas(16) FourWords {
  unsigned at[4];
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

// Begins to copy what lies together from memory to shared memory, zeros where there is nothing; a thread finds its own
// copies there after ArriveOwn.
template <class P>
__device__ __forceinline__ void CopyAhead(P* to, const P* from, bool there) {
#ifdef __CUDA_ARCH__
  if constexpr (sizeof(P) >= 4) {
    const unsigned place = static_cast<unsigned>(__cvta_generic_to_shared(to));
    const int bytes = there ? sizeof(P) : 0;
    if constexpr (sizeof(P) == 16)
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(place), "l"(from), "r"(bytes) : "memory");
    else
      asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" ::"r"(place), "l"(from), "r"(bytes), "n"(sizeof(P))
                   : "memory");
    return;
  }
#endif
  *to = there ? *from : P{};
}
__device__ __forceinline__ void ArriveOwn() {
#ifdef __CUDA_ARCH__
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

template <class S>
struct Patch {
  using Held = typename S::Held;                        // f32, of TF32's accuracy, or the bits of a half
  static constexpr int kDepth = 32 / sizeof(Held);      // terms of a step of the product
  static constexpr int kNeighbours = 4 / sizeof(Held);  // terms of a word, and channels that are copied together
  static constexpr int kTerms = S::kWindowZ * S::kWindowY * S::kWindowX * S::kChannelsHeld;
  static constexpr int kSteps = (kTerms + kDepth - 1) / kDepth;
  // The columns of products are what lies side by side in the result: pixels, or its channels where they are last. Their
  // rows are the others. A thread's sums are two columns of each tile; of channels kGroup tiles give it neighbours.
  static constexpr int kRows = 16 * S::kRowTiles, kColumns = 8 * S::kColumnTiles;
  static constexpr int kWarpPixels = S::kResultLast ? kRows : kColumns;
  static constexpr int kPart = S::kResultLast ? kColumns : kRows;  // outputs that a block makes
  static constexpr int kGroup = S::kResultLast && S::kPack > 2 ? S::kPack / 2 : 1, kSpan = 8 * kGroup;
  static constexpr int kTilePixels = S::kRows * S::kStrip, kMadePixels = S::kThreads / 32 * kWarpPixels;
  static constexpr int kSumsOfOutput = kMadePixels + 8;  // eight rows of two neighbours are in banks of their own
  // From a channel to the next, and from a column to the next, in elements of the patch.
  static constexpr int kAlong = S::kFloats ? S::kPlane : 1;
  static constexpr int kAcross = S::kFloats ? 1 : S::kChannelsHeld;

  static constexpr int kWordsOfThread = S::kResultLast ? 2 : 4;  // of a tile of weights
  static constexpr int kWeightTiles = S::kResultLast ? S::kColumnTiles : S::kRowTiles;
  // Pixels of a thread: of its rows, or of the columns that it brings to a tile. Where a warp's pixels are rows of the tile
  // or one is of whole warps, all begin at constant distances from the first.
  static constexpr int kFroms = S::kResultLast ? 2 * S::kRowTiles : S::kColumnTiles;
  static constexpr bool kRegular = S::kStrip % 8 == 0 && kTilePixels % kWarpPixels == 0 &&
                                   (S::kStrip % kWarpPixels == 0 || kWarpPixels % S::kStrip == 0);

  Held* const weights;      // [step, tile, thread of a warp, word]
  TwoPlaces* const places;  // [step, thread of four]: where the terms of its two words are, from a window's first on
  Held* const patch;        // f32: [channel, plane, line, column]; halves: [plane, line, column, channel]
  Held* const ahead;        // the next patch, as it lies in memory: each thread reads there what it has copied itself
  float* const sums;        // [output, pixel], where the patch is, which is read no more then
  const unsigned lane;
  int from[kRegular ? 1 : kFroms];  // where the windows of this thread's pixels begin

  __device__ explicit Patch(unsigned char* memory)
      : weights(reinterpret_cast<Held*>(memory)),
        places(reinterpret_cast<TwoPlaces*>(memory + S::kPlacesAt)),
        patch(reinterpret_cast<Held*>(memory + S::kPatchAt)),
        ahead(reinterpret_cast<Held*>(memory + S::kAheadAt)),
        sums(reinterpret_cast<float*>(memory + S::kPatchAt)),
        lane(threadIdx.x % 32) {
    for (int i = threadIdx.x; i < kSteps * 4; i += S::kThreads) {
      const int term = i / 4 * kDepth + i % 4 * kNeighbours;
      places[i].x = PlaceOf(term);
      places[i].y = PlaceOf(term + kDepth / 2);
    }
#pragma unroll
    for (int i = 0; i < (kRegular ? 1 : kFroms); ++i) {
      unsigned pixel = threadIdx.x / 32 * kWarpPixels + i * 8 + lane / 4;
      if (pixel >= kTilePixels) pixel = 0;  // nobody's
      from[i] = BeginOf(pixel) + S::kShift * kAcross;
    }
  }
  static __device__ constexpr int BeginOf(unsigned pixel) {
    return (pixel / S::kStrip * S::kStrideY * S::kWide + pixel % S::kStrip * S::kStrideX) * kAcross;
  }
  __device__ int From(int i) const {
    if constexpr (kRegular)
      return from[0] + BeginOf(i * 8);
    else
      return from[i];
  }
  static __device__ int PlaceOf(int term) {
    if (term >= kTerms) return 0;
    const int tap = term / S::kChannelsHeld;
    const int x = tap % S::kWindowX, y = tap / S::kWindowX % S::kWindowY, z = tap / (S::kWindowX * S::kWindowY);
    return term % S::kChannelsHeld * kAlong +
           ((z * S::kLines + y * S::kDilationY) * S::kWide + x * S::kDilationX) * kAcross;
  }

  // weight(output of the block, channel, z, y, x)
  template <class Weight>
  __device__ void PutWeights(const Weight& weight) {
#pragma unroll 8
    for (int i = threadIdx.x; i < kSteps * kWeightTiles * 32 * kWordsOfThread * kNeighbours; i += S::kThreads) {
      const int word = i / kNeighbours % kWordsOfThread, thread = i / (kNeighbours * kWordsOfThread) % 32;
      const int number = i / (kNeighbours * kWordsOfThread * 32), tile = number % kWeightTiles;
      const int own = thread / 4, later = S::kResultLast ? word : word / 2;
      const int made = S::kResultLast ? tile / kGroup * kSpan + tile % kGroup * 2 + own / 2 * 2 * kGroup + own % 2
                                      : tile * 16 + word % 2 * 8 + own;
      const int term = number / kWeightTiles * kDepth + (thread % 4 + later * 4) * kNeighbours + i % kNeighbours;
      const int tap = term / S::kChannelsHeld, channel = term % S::kChannelsHeld;
      Held of = 0;
      if (made < OutputsOfBlock() && term < kTerms && channel < S::kChannels)
        of = weight(made, channel, tap / (S::kWindowX * S::kWindowY), tap / S::kWindowX % S::kWindowY, tap % S::kWindowX);
      weights[i] = of;
    }
  }
  static __device__ int OutputsOfBlock() {
    return S::kMade % kPart == 0 ? kPart : min(kPart, S::kMade - static_cast<int>(blockIdx.y) * kPart);
  }

  // Neighbours in a line of the image that are copied as one; two channels of halves beside each other.
  struct alignas(S::kLoad * sizeof(Held)) Neighbours {
    Held at[S::kLoad];
  };
  static constexpr int kOfLine = S::kWide / S::kLoad;
  static constexpr int kAllLines = S::kChannelsHeld / kNeighbours * S::kWindowZ * S::kLines;
  static constexpr int kLanes = kOfLine > 16 ? 32 : kOfLine > 8 ? 16 : kOfLine > 4 ? 8 : 4;  // of threads, to a line
  // each(line of all, number in it): those of this thread
  template <class Each>
  static __device__ void ForOwn(const Each& each) {
    for (unsigned line = threadIdx.x / kLanes; line < kAllLines; line += S::kThreads / kLanes) {
#pragma unroll
      for (unsigned first = 0; first < kOfLine; first += kLanes) {
        const unsigned number = first + threadIdx.x % kLanes;
        if (number < kOfLine) each(line, number);
      }
    }
  }
  // copy(to, channel, plane, line, column): neighbours from there on, zeros outside of the image.
  template <class Copy>
  __device__ void Fetch(const Copy& copy) {
    ForOwn([&](unsigned line, unsigned number) {
      auto* const to = reinterpret_cast<Neighbours*>(ahead) + (line * kOfLine + number) * kNeighbours;
#pragma unroll
      for (int c = 0; c < kNeighbours; ++c) {
        const unsigned channel = line / (S::kLines * S::kWindowZ) * kNeighbours + c;
        if (S::kChannels % kNeighbours != 0 && channel >= S::kChannels)
          to[c] = {};
        else
          copy(to + c, channel, line / S::kLines % S::kWindowZ, line % S::kLines, number * S::kLoad);
      }
    });
  }
  // Brings what this thread fetched where and as it is read.
  __device__ void Settle() {
    ArriveOwn();
    ForOwn([&](unsigned line, unsigned number) {
      const auto* const of = reinterpret_cast<const Neighbours*>(ahead) + (line * kOfLine + number) * kNeighbours;
      const unsigned channel = line / (S::kLines * S::kWindowZ) * kNeighbours;
      const unsigned place = channel * kAlong + (line % (S::kLines * S::kWindowZ) * S::kWide + number * S::kLoad) * kAcross;
      if constexpr (S::kFloats) {
        Neighbours held = of[0];
#pragma unroll
        for (int i = 0; i < S::kLoad; ++i) held.at[i] = Tf32Of(held.at[i]);
        *reinterpret_cast<Neighbours*>(patch + place) = held;
      } else {
        const Neighbours lower = of[0], upper = of[1];
#pragma unroll
        for (int i = 0; i < S::kLoad; ++i)
          *reinterpret_cast<unsigned*>(patch + place + i * kAcross) = lower.at[i] | static_cast<unsigned>(upper.at[i]) << 16;
      }
    });
  }

  __device__ unsigned WordAt(int place) const { return *reinterpret_cast<const unsigned*>(patch + place); }

  // inside(pixel) says whether one of the tile is of the result; put(output of the block, pixel, sums): of kPack
  // neighbours. Where phases of a transposed one are beside each other the pixels of kBeside outputs alternate: a line of
  // the tile has so many times more, and the output is the first of them.
  template <class Inside, class Put>
  __device__ void Multiply(const Inside& inside, const Put& put) {
    float of[S::kRowTiles][S::kColumnTiles][4] = {};
#pragma unroll S::kUnrolled
    for (int step = 0; step < kSteps; ++step) {
      const TwoPlaces at = places[step * 4 + lane % 4];
      // Of terms that are none there may be anything.
      const int term = step * kDepth + lane % 4 * kNeighbours;
      const bool last = kTerms % kDepth != 0 && step == kSteps - 1;
      const bool no_first = last && term >= kTerms, no_second = last && term + kDepth / 2 >= kTerms;
      const auto image_word = [&](int i, int second) {
        const unsigned word = WordAt(From(i) + (second ? at.y : at.x));
        return (second ? no_second : no_first) ? 0 : word;
      };
      const Held* const own =
          weights + (step * kWeightTiles * 32 + lane) * (kWordsOfThread * kNeighbours);
      constexpr int kTile = 32 * kWordsOfThread * kNeighbours;
      if constexpr (S::kResultLast) {
        unsigned a[S::kRowTiles][4];
#pragma unroll
        for (int i = 0; i < 4 * S::kRowTiles; ++i) a[i / 4][i % 4] = image_word(i / 4 * 2 + i % 2, i % 4 / 2);
#pragma unroll
        for (int tile = 0; tile < S::kColumnTiles; ++tile) {
          const TwoWords b = *reinterpret_cast<const TwoWords*>(own + tile * kTile);
#pragma unroll
          for (int m = 0; m < S::kRowTiles; ++m) MultiplyAdd<typename S::Type>(of[m][tile], a[m], b.x, b.y);
        }
      } else {
        unsigned b[S::kColumnTiles][2];
#pragma unroll
        for (int i = 0; i < 2 * S::kColumnTiles; ++i) b[i / 2][i % 2] = image_word(i / 2, i % 2);
#pragma unroll
        for (int m = 0; m < S::kRowTiles; ++m) {
          const FourWords a = *reinterpret_cast<const FourWords*>(own + m * kTile);
#pragma unroll
          for (int tile = 0; tile < S::kColumnTiles; ++tile)
            MultiplyAdd<typename S::Type>(of[m][tile], a.at, b[tile][0], b[tile][1]);
        }
      }
    }
    if constexpr (S::kResultLast)
      PutChannels(of, inside, put);
    else
      PutPixels(of, inside, put);
  }

  template <class Inside, class Put>
  __device__ void PutChannels(const float (&of)[S::kRowTiles][S::kColumnTiles][4], const Inside& inside,
                              const Put& put) const {
#pragma unroll
    for (int half = 0; half < 2 * S::kRowTiles; ++half) {
      const int pixel = threadIdx.x / 32 * kWarpPixels + half * 8 + lane / 4;
      if (pixel >= kTilePixels || !inside(pixel)) continue;
#pragma unroll
      for (int first = 0; first < 2 * S::kColumnTiles; first += S::kPack) {  // of this thread's columns
        const int made = first / (2 * kGroup) * kSpan + lane % 4 * 2 * kGroup + first % (2 * kGroup);
        if (made >= OutputsOfBlock()) continue;
        float of_pack[S::kPack];
#pragma unroll
        for (int s = 0; s < S::kPack; ++s) of_pack[s] = of[half / 2][(first + s) / 2][half % 2 * 2 + (first + s) % 2];
        put(made, pixel, of_pack);
      }
    }
  }
  // Through shared memory, so that long runs of pixels are written as one: sectors that are written in part are slow.
  template <class Inside, class Put>
  __device__ void PutPixels(const float (&of)[S::kRowTiles][S::kColumnTiles][4], const Inside& inside,
                            const Put& put) {
    constexpr int kPacks = kMadePixels * S::kBeside / S::kPack, kOfThreads = kPacks < S::kThreads ? kPacks : S::kThreads;
#pragma unroll
    for (int first = 0; first < S::kRowTiles; first += S::kStagedTiles) {
      __syncthreads();
#pragma unroll
      for (int m = first; m < first + S::kStagedTiles && m < S::kRowTiles; ++m) {
#pragma unroll
        for (int i = 0; i < 2 * S::kColumnTiles; ++i) {
          const int made = (m - first) * 16 + i % 2 * 8 + lane / 4;
          const int pixel = threadIdx.x / 32 * kWarpPixels + i / 2 * 8 + lane % 4 * 2;
          *reinterpret_cast<float2*>(sums + made * kSumsOfOutput + pixel) =
              make_float2(of[m][i / 2][i % 2 * 2], of[m][i / 2][i % 2 * 2 + 1]);
        }
      }
      __syncthreads();
#pragma unroll
      for (int begin = 0; begin < kPacks; begin += kOfThreads) {
        const int pixel = (begin + threadIdx.x % kOfThreads) * S::kPack;
        if (pixel >= kTilePixels * S::kBeside || !inside(pixel)) continue;
#pragma unroll 4
        for (int row = threadIdx.x / kOfThreads * S::kBeside; row < 16 * S::kStagedTiles;
             row += S::kThreads / kOfThreads * S::kBeside) {
          const int made = first * 16 + row;
          if (made >= OutputsOfBlock()) break;
          struct alignas(4 * S::kPack) Sums {
            float at[S::kPack];
          };
          Sums of_pack;
          if constexpr (S::kBeside == 1) {
            of_pack = *reinterpret_cast<const Sums*>(sums + row * kSumsOfOutput + pixel);
          } else {
#pragma unroll
            for (int v = 0; v < S::kPack; ++v)
              of_pack.at[v] = sums[(row + (pixel + v) % S::kBeside) * kSumsOfOutput + (pixel + v) / S::kBeside];
          }
          put(made, pixel, of_pack.at);
        }
      }
    }
  }
};
