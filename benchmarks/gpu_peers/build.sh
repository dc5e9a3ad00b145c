#!/bin/sh
# Builds the GPU programs that benchmarks/flagship.py measures beside nearfar.
#
#   benchmarks/gpu_peers/build.sh ADDS DOUBLEGRAPH TO [ARCHITECTURE]
#
# ADDS and DOUBLEGRAPH are checkouts of github.com/UCLA-VAST/adds and
# github.com/double-ai/doubleGraph, left as they are; the programs adds-sssp and
# doublegraph-sssp-FORM are written to TO. ARCHITECTURE is nvcc's (default sm_90). What is changed
# in the copies, and why:
#
# - ADDS starts its two kernels from a kernel, which Hopper's driver runs one after the other: here
#   the host starts them. Its tables hold 128 thread blocks: 512 here. Its own copy of CUB is
#   older than the compiler: the toolkit's takes its place. Times get microseconds.
# - doubleGraph's functions make predecessors after the distances: here they return before that.
set -e
ADDS=$1; DOUBLEGRAPH=$2; TO=$3; ARCH=${4:-sm_90}
[ -n "$TO" ] || { sed -n '4p' "$0" | cut -c3-; exit 2; }
HERE=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$TO"
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT

if [ -d "$ADDS/ads_int" ]; then
    cp -r "$ADDS/ads_int" "$WORK/adds"
    cd "$WORK/adds"
    sed -i -e 's|"../cub-1.8.0/cub/cub.cuh"|<cub/cub.cuh>|' \
        -e 's/^__global__ void driver_kernel/static void driver_kernel/' \
        -e 's/driver_kernel<<<1, 1>>>/driver_kernel/' \
        -e 's/cub::LaneId()/(threadIdx.x % 32)/g' \
        -e 's/sample = %.3fs/sample = %.6fs/' kernel.cu
    sed -i -e 's/define MAX_TB 128/define MAX_TB 512/' -e 's/cub::LaneId()/(threadIdx.x % 32)/g' wl.h
    sed -i -e '/boost\/mpl/d' ./*.cu ./*.h
    nvcc -w -O3 -arch="$ARCH" -rdc=true kernel.cu support.cu csr_graph.cu -o adds-sssp
    cd - > /dev/null
    cp "$WORK/adds/adds-sssp" "$TO"
else
    echo "no ADDS in $ADDS" >&2
fi

if [ -d "$DOUBLEGRAPH/cpp/src/aai" ]; then
    mkdir -p "$WORK/include/cugraph"
    # The functions take plain arrays; of cuGraph's graph they want to know that it is a template.
    echo 'namespace cugraph { template <typename, typename, bool, bool> class graph_view_t; }' \
        > "$WORK/include/cugraph/graph_view.hpp"
    for gpu in a100 a10g l4; do
        for kind in f32 f32_seg; do
            from=$DOUBLEGRAPH/cpp/src/aai/impl/$gpu/traversal/sssp_$kind.cu
            awk '/^void sssp/ { inside = 1 }
                inside && /cudaMemsetAsync\(predecessors|if \(predecessors\)|fix_predecessors_positive<<</ {
                    print "cudaDeviceSynchronize(); return;"; inside = 0 }
                { print }' "$from" > "$WORK/$gpu-$kind.cu"
            segmented=0
            [ $kind = f32_seg ] && segmented=1
            nvcc -w -O3 -std=c++20 --use_fast_math -arch="$ARCH" -I "$WORK/include" \
                -I "$DOUBLEGRAPH/cpp/include" -DFORM_FILE="\"$WORK/$gpu-$kind.cu\"" \
                -DSEGMENTED=$segmented "$HERE/doublegraph.cu" \
                -o "$TO/doublegraph-sssp-$gpu-$kind" &
        done
    done
    wait
else
    echo "no doubleGraph in $DOUBLEGRAPH" >&2
fi
