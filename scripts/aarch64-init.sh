#!/bin/busybox sh
# The first program of the emulated machine of aarch64.sh: mounts the root and the checkout, runs the job, and turns the machine off.
b=/bin/busybox
export PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin HOME=/root LANG=C.UTF-8
$b mount -t proc proc /proc
$b mount -t sysfs sys /sys
$b mount -t devtmpfs dev /dev
for module in /modules/*; do $b insmod "$module" 2>/dev/null; done
named() { $b sed "s/.* $1=\([^ ]*\).*/\1/" /proc/cmdline; }
options=trans=virtio,version=9p2000.L,msize=512000,cache=loose
$b mount -t 9p -o $options root /root
checkout=$(named checkout)
$b mkdir -p /root/proc /root/sys /root/dev /root/tmp /root/run /root/root
for share in checkout crates; do
    $b mkdir -p "/root$(named $share)"
    $b mount -t 9p -o $options $share "/root$(named $share)"
done
for directory in proc sys dev; do $b mount --move "/$directory" "/root/$directory"; done
$b mkdir -p /root/dev/pts /root/dev/shm
$b ln -s /proc/self/fd /root/dev/fd
for link in stdin:0 stdout:1 stderr:2; do $b ln -s "/proc/self/fd/${link#*:}" "/root/dev/${link%:*}"; done
$b mount -t devpts devpts /root/dev/pts
for directory in dev/shm tmp run; do $b mount -t tmpfs -o mode=1777 tmp "/root/$directory"; done
$b mount -t securityfs security /root/sys/kernel/security
$b mount -t cgroup2 cgroup /root/sys/fs/cgroup
echo '+cpu +memory +pids' >/root/sys/fs/cgroup/cgroup.subtree_control
$b ip link set lo up
# Not `chroot`: in one, the kernel allows no namespaces of users.
exec $b switch_root /root /bin/sh -c '
    cd "$1" && /bin/sh target/aarch64/job.sh
    echo $? >target/aarch64/status
    sync
    echo o >/proc/sysrq-trigger
    sleep 10' job "$checkout"
