# shellcheck shell=sh
# . scripts/roots.sh: functions of the scripts that try things in new minimal Debian systems.
#
# All mounts are made in a mount namespace that ends with the last process in it, and a system has a
# /dev of its own: nothing stays mounted, and removing the folder cannot reach the machine's.

have() { command -v "$1" >/dev/null 2>&1; }

# root_obstacle FOLDER ADDRESS: why no system can be made in FOLDER from a release's address in an archive;
# nothing when one can.
root_obstacle() {
    if [ "$(id -u)" != 0 ]; then echo "it takes root"; return; fi
    if ! git ls-files --error-unmatch scripts/check-fresh >/dev/null 2>&1; then echo "this is no git checkout"; return; fi
    if ! have unshare || ! unshare -m -p -f mount -t tmpfs none "$1" 2>/dev/null; then
        echo "no mount namespace can be made here (unshare -m)"
        return
    fi
    if ! PATH=$PATH:/usr/sbin have debootstrap; then
        # Installed when it is missing, as everything that the check needs.
        have apt-get && scripts/install-deps fresh >/dev/null 2>&1 || { echo "there is no debootstrap"; return; }
    fi
    if ! curl --fail --silent --location --max-time 60 -o /dev/null "$2/InRelease"; then
        echo "$2 cannot be reached"
    fi
}

# root_unshare COMMAND...: in namespaces of its own. A process namespace, too: its end, that of its first
# process, takes along what was left running.
root_unshare() { unshare -m -p -f --kill-child --propagation private "$@"; }

# root_make ROOT SUITE MIRROR: a minimal system.
root_make() {
    PATH=/usr/sbin:/usr/bin:/sbin:/bin:$PATH debootstrap --variant=minbase "$2" "$1" "$3"
    cp /etc/resolv.conf "$1/etc/resolv.conf"
    # It trusts the certificates that this machine's administrator added, as behind a company's proxy.
    mkdir -p "$1/usr/local/share/ca-certificates"
    find /usr/local/share/ca-certificates -name '*.crt' -exec cp '{}' "$1/usr/local/share/ca-certificates" ';' || true
    # A mirror that stands still (a snapshot) is as good; what it holds is signed all the same.
    echo 'Acquire::Check-Valid-Until "false";' >"$1/etc/apt/apt.conf.d/snapshot"
    # What is deleted tomorrow need not reach the disk.
    echo force-unsafe-io >"$1/etc/dpkg/dpkg.cfg.d/unsafe-io"
}

# root_mount ROOT: what programs expect.
root_mount() {
    mount -t proc proc "$1/proc"
    mount -t tmpfs -o mode=755 dev "$1/dev"
    for node in null zero full random urandom tty; do
        : >"$1/dev/$node"
        mount --bind "/dev/$node" "$1/dev/$node"
    done
    mkdir "$1/dev/shm" "$1/dev/pts"
    mount -t tmpfs -o mode=1777 shm "$1/dev/shm"
    mount -t devpts -o newinstance,ptmxmode=666 pts "$1/dev/pts"
    ln -s pts/ptmx "$1/dev/ptmx"
    ln -s /proc/self/fd "$1/dev/fd"
}

# root_run ROOT COMMAND...: there, with nothing of this environment but what leads to the network.
root_run() (
    root=$1
    shift
    for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY PIP_CERT CI; do
        eval "value=\${$name:-}"
        [ -z "$value" ] || set -- "$name=$value" "$@"
    done
    exec chroot "$root" env -i HOME=/root \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@" </dev/null
)

# root_mounted FOLDER: what is mounted below it in this namespace.
root_mounted() { awk -v folder="$1/" 'index($5, folder) == 1' /proc/self/mountinfo; }

# root_remove FOLDER: false, and it stays, when something is mounted in it.
root_remove() {
    [ -z "$(root_mounted "$1")" ] && rm -rf --one-file-system "$1"
}
