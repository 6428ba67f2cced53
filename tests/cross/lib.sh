# Shared by the tests of this folder; what they are given is in CMakeLists.txt.
. "$TT_SOURCE_DIR/tests/engine/lib.sh"
TT_ENGINE=$TT_SOURCE_DIR/engines/node_modules/engine-v0.5.0
TT_CROSS_ENGINE=$TT_SOURCE_DIR/tests/engine/node_modules/arm64-v0.5.0

need_engines() {
    [ -d "$TT_CROSS_ENGINE" ] && [ -d "$TT_ENGINE" ] || { echo "skipped: no engines fetched"; exit 77; }
}

# emulated PROGRAM ARGUMENTS...: on the other processor. LD_PRELOAD is for the emulated dynamic linker: the
# emulator itself has none.
emulated() {
    # shellcheck disable=SC2086 # several words
    $TT_EMULATOR "$@"
}

# cross ARGUMENTS...: the other processor's tensortrace.
cross() {
    emulated "$TT_CROSS" "$@"
}
