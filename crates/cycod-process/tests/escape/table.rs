//! Every attack: what it tries, how its success is seen, and what stops it. The page `docs/reference/escapes.md` is made of
//! this table, and the suite runs it.

use crate::field::Field;

/// One way out.
pub(crate) struct Attack {
    /// The function of `programs/` that does it.
    pub(crate) name: &'static str,
    pub(crate) family: Family,
    /// What it tries, as the page says it.
    pub(crate) tries: &'static str,
    /// How its success is seen from outside.
    pub(crate) proof: Proof,
    /// What stops it.
    pub(crate) by: By,
    /// Where it can be shown to work without confinement.
    pub(crate) needs: Needs,
    /// What is granted beside the usual.
    pub(crate) grants: &'static [Grant],
    /// What happens between the decision and the start.
    pub(crate) before: Option<fn(&Field)>,
    /// What an accomplice outside does, over and over, while the attack runs.
    pub(crate) accomplice: Option<fn(&Field)>,
    /// Whether it must not work either where the whole tree can be read.
    pub(crate) reduced: bool,
}

/// What an attack is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Family {
    Reading,
    Writing,
    Proc,
    Hardware,
    Leftovers,
    Sockets,
    Others,
    Namespaces,
    Kernel,
    Rights,
    Network,
    Gate,
    Resources,
    Staying,
}

/// A trace that something got out. Whatever trace a confined attack leaves, it has escaped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Proof {
    /// A secret of the outside is in its output.
    Secret,
    /// A file outside is not what it was.
    Changed,
    /// The witness heard a word that only this run knows.
    Heard,
    /// The process outside was struck.
    Struck,
    /// A process of its own outlived the run.
    Stayed,
    /// It says itself that the call succeeded, where nothing else would show it.
    Claimed,
}

/// What stops an attack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum By {
    Mounts,
    ReadOnly,
    Masked,
    Source,
    ProcessNamespace,
    NetworkNamespace,
    Proxy,
    IpcNamespace,
    NameNamespace,
    Scope,
    Filter,
    Privileges,
    Devices,
    Descriptors,
    Environment,
    Limits,
    Bounds,
}

/// Where the half without confinement can be shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Needs {
    /// By every user.
    Nothing,
    /// Only by the machine's root: it may do such things, so the confinement of what it starts has more to hold.
    Administrator,
    /// Only by an ordinary user, for whom it would be a gain.
    Ordinary,
}

/// What is granted beside the directories that every attack has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Grant {
    Processes(u32),
    MemoryMib(u64),
    TempMib(u64),
    FileMib(u64),
    OpenFiles(u64),
    CpuSeconds(u64),
    /// How far a bomb must come to have gone off.
    Bound(u32),
    /// Only a control group counts what it takes.
    ControlGroup,
    /// A start that is refused holds as well.
    MayRefuse,
    /// The same again, to win a race.
    Repeat(u32),
}

/// Terms under which an attack must not work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Terms {
    /// What a tool that declares permissions is held to.
    Declared,
    /// The same, with the network of the machine.
    Connected,
    /// The same, with a proxy to the hosts that it declared.
    Gated,
    /// What `execution-privilege: reduced` means: the whole tree for reading, and the network of the machine.
    Reduced,
}

impl Attack {
    /// The terms that stop it.
    pub(crate) fn terms(&self) -> impl Iterator<Item = Terms> {
        let alone = self.by == By::NetworkNamespace;
        let gate = self.family == Family::Gate;
        // To files and limits the network makes no difference.
        let speaks = matches!(
            self.family,
            Family::Proc | Family::Sockets | Family::Others | Family::Namespaces | Family::Kernel | Family::Network
        );
        [
            (!gate, Terms::Declared),
            (speaks && !alone, Terms::Connected),
            (gate || alone, Terms::Gated),
            (!gate && !alone && self.reduced, Terms::Reduced),
        ]
        .into_iter()
        .filter_map(|(holds, terms)| holds.then_some(terms))
    }

    /// Whether it is none, but shows what a confined program may do.
    pub(crate) fn is_control(&self) -> bool {
        self.name.starts_with("may_")
    }

    const fn new(name: &'static str, family: Family, proof: Proof, by: By, tries: &'static str) -> Attack {
        Attack {
            name,
            family,
            tries,
            proof,
            by,
            needs: Needs::Nothing,
            grants: &[],
            before: None,
            accomplice: None,
            reduced: false,
        }
    }

    const fn administrator(mut self) -> Attack {
        self.needs = Needs::Administrator;
        self
    }

    const fn ordinary(mut self) -> Attack {
        self.needs = Needs::Ordinary;
        self
    }

    const fn grant(mut self, grants: &'static [Grant]) -> Attack {
        self.grants = grants;
        self
    }

    const fn before(mut self, before: fn(&Field)) -> Attack {
        self.before = Some(before);
        self
    }

    const fn accomplice(mut self, accomplice: fn(&Field)) -> Attack {
        self.accomplice = Some(accomplice);
        self
    }

    /// Must hold under the looser terms of `execution-privilege: reduced` as well.
    const fn reduced(mut self) -> Attack {
        self.reduced = true;
        self
    }
}

impl Family {
    pub(crate) const ALL: [Family; 14] = [
        Family::Reading,
        Family::Writing,
        Family::Proc,
        Family::Hardware,
        Family::Leftovers,
        Family::Sockets,
        Family::Others,
        Family::Namespaces,
        Family::Kernel,
        Family::Rights,
        Family::Network,
        Family::Gate,
        Family::Resources,
        Family::Staying,
    ];

    pub(crate) fn title(self) -> &'static str {
        match self {
            Family::Reading => "Reading what was not granted",
            Family::Writing => "Changing what was not granted",
            Family::Proc => "The process file system",
            Family::Hardware => "Devices, and the kernel's switches",
            Family::Leftovers => "Open files that were left over",
            Family::Sockets => "Sockets and queues of the machine",
            Family::Others => "Other processes",
            Family::Namespaces => "Namespaces and mounts",
            Family::Kernel => "Other doors of the kernel",
            Family::Rights => "More rights",
            Family::Network => "The network",
            Family::Gate => "The proxy that leads to declared hosts",
            Family::Resources => "Taking too much",
            Family::Staying => "Staying when the run is over",
        }
    }
}

impl By {
    pub(crate) fn text(self) -> &'static str {
        match self {
            By::Mounts => "not mounted",
            By::Masked => "covered",
            By::ReadOnly => "mounted for reading only",
            By::Source => "no link is followed to what is mounted",
            By::ProcessNamespace => "processes of its own",
            By::NetworkNamespace => "no network, or one of its own",
            By::Proxy => "the proxy checks name, address and protocol",
            By::IpcNamespace => "shared memory and queues of its own",
            By::NameNamespace => "a host name of its own",
            By::Scope => "Landlock, and the filter of system calls",
            By::Filter => "the filter of system calls",
            By::Privileges => "no capabilities, no way to new ones",
            By::Devices => "only a few devices",
            By::Descriptors => "every other descriptor is closed",
            By::Environment => "only the tool's own variables",
            By::Limits => "limits",
            By::Bounds => "the run ends as a whole",
        }
    }
}

use self::By::*;
use self::Family::*;
use self::Grant::*;
use self::Proof::*;

/// All of them, by family.
#[rustfmt::skip]
pub(crate) const ATTACKS: &[Attack] = &[
    // Reading.
    Attack::new("read_absolute", Reading, Secret, Mounts, "opens a file by its path"),
    Attack::new("read_dotdot", Reading, Secret, Mounts, "walks up from the granted directory with `..`"),
    Attack::new("read_dotdot_from_root", Reading, Secret, Mounts, "walks above the root with forty `..`"),
    Attack::new("read_symlink", Reading, Secret, Mounts, "makes a symbolic link in the granted directory"),
    Attack::new("read_symlink_chain", Reading, Secret, Mounts, "makes a chain of twenty links, each through `..`"),
    Attack::new("read_symlink_in_grant", Reading, Secret, Mounts, "follows a link that lies in the granted directory already"),
    Attack::new("read_hard_link", Reading, Secret, Mounts, "makes a hard link to the file in the granted directory"),
    Attack::new("read_from_root_directory", Reading, Secret, Mounts, "opens the root and goes down from there"),
    Attack::new("read_directory_names", Reading, Secret, Mounts, "lists a directory"),
    Attack::new("read_mapped", Reading, Secret, Mounts, "maps a file into memory"),
    Attack::new("read_home_ssh_key", Reading, Secret, Mounts, "reads `~/.ssh/id_ed25519`"),
    Attack::new("read_home_cloud_credentials", Reading, Secret, Mounts, "reads `~/.aws/credentials`"),
    Attack::new("read_shadow", Reading, Claimed, Mounts, "reads `/etc/shadow` as root").administrator(),
    Attack::new("read_symlink_race", Reading, Secret, Mounts, "exchanges a directory for a link, thousands of times, while opening a file below it"),
    Attack::new("read_above_moved_directory", Reading, Secret, Mounts, "is in a directory that an accomplice moves out of the granted one, and walks up").accomplice(Field::move_deep_away),
    Attack::new("read_swapped_grant", Reading, Secret, Source, "has the granted directory replaced by a link after the decision").before(Field::swap_readable).grant(&[MayRefuse]),
    Attack::new("probe_existence", Reading, Claimed, Mounts, "asks whether a file exists and how long it is"),
    Attack::new("watch_inotify", Reading, Claimed, Mounts, "watches a directory"),
    Attack::new("watch_fanotify", Reading, Claimed, Filter, "watches every opening on the file system").administrator().reduced(),
    Attack::new("execute_outside", Reading, Claimed, Mounts, "executes a program outside"),
    Attack::new("execute_readable", Reading, Claimed, ReadOnly, "executes a program where reading is granted, not executing"),
    // Writing.
    Attack::new("write_absolute", Writing, Changed, Mounts, "writes to a file by its path").reduced(),
    Attack::new("write_append", Writing, Changed, Mounts, "appends to a file").reduced(),
    Attack::new("write_symlink", Writing, Changed, Mounts, "writes through a link that it made").reduced(),
    Attack::new("write_hard_link", Writing, Changed, Mounts, "writes through a hard link that it made").reduced(),
    Attack::new("write_symlink_race", Writing, Changed, Mounts, "writes to a file while its directory is exchanged for a link").reduced(),
    Attack::new("write_read_only_grant", Writing, Changed, ReadOnly, "writes where reading is granted").reduced(),
    Attack::new("create_in_read_only_grant", Writing, Changed, ReadOnly, "makes a file where reading is granted").reduced(),
    Attack::new("change_mode_of_read_only_grant", Writing, Changed, ReadOnly, "changes the mode of a file where reading is granted").reduced(),
    Attack::new("write_home_profile", Writing, Changed, Mounts, "appends to `~/.bashrc`").reduced(),
    Attack::new("write_swapped_grant", Writing, Changed, Source, "has the granted directory replaced by a link after the decision").before(Field::swap_granted).grant(&[MayRefuse]).reduced(),
    Attack::new("write_swapped_grant_racing", Writing, Changed, Source, "has the granted directory exchanged for a link and back all the time").accomplice(Field::swap_granted_and_back).grant(&[MayRefuse, Repeat(12)]).reduced(),
    Attack::new("truncate_path", Writing, Changed, Mounts, "empties a file").reduced(),
    Attack::new("create_file", Writing, Changed, Mounts, "makes a file").reduced(),
    Attack::new("create_directory", Writing, Changed, Mounts, "makes a directory").reduced(),
    Attack::new("create_fifo", Writing, Changed, Mounts, "makes a named pipe").reduced(),
    Attack::new("create_symlink", Writing, Changed, Mounts, "makes a symbolic link").reduced(),
    Attack::new("create_unnamed_and_link", Writing, Changed, Mounts, "makes a file without a name and links it in").reduced(),
    Attack::new("remove_file", Writing, Changed, Mounts, "removes a file").reduced(),
    Attack::new("remove_directory", Writing, Changed, Mounts, "removes a directory").reduced(),
    Attack::new("rename_in", Writing, Changed, Mounts, "takes a file into the granted directory").reduced(),
    Attack::new("rename_out", Writing, Changed, Mounts, "puts a file out of the granted directory").reduced(),
    Attack::new("rename_exchange", Writing, Changed, Mounts, "exchanges a file with one of its own").reduced(),
    Attack::new("rename_grant", Writing, Changed, Mounts, "renames the granted directory").reduced(),
    Attack::new("replace_grant", Writing, Changed, Mounts, "replaces the granted directory by a link").reduced(),
    Attack::new("change_mode", Writing, Changed, Mounts, "changes the mode of a file").reduced(),
    Attack::new("change_owner", Writing, Changed, Mounts, "changes the owner of a file").reduced(),
    Attack::new("change_times", Writing, Changed, Mounts, "changes the times of a file").reduced(),
    Attack::new("change_attribute", Writing, Changed, Mounts, "sets an extended attribute").reduced(),
    Attack::new("change_access_list", Writing, Changed, Mounts, "sets an access list").reduced(),
    Attack::new("execute_written", Writing, Claimed, ReadOnly, "executes a program that it wrote where writing is granted, not executing"),
    // Proc.
    Attack::new("proc_self_root", Proc, Secret, Mounts, "goes by `/proc/self/root`"),
    Attack::new("proc_self_cwd", Proc, Secret, Mounts, "goes by `/proc/self/cwd/..`"),
    Attack::new("proc_other_root", Proc, Secret, ProcessNamespace, "goes by the root of a process outside"),
    Attack::new("proc_other_cwd", Proc, Secret, ProcessNamespace, "goes by the directory of a process outside"),
    Attack::new("proc_other_descriptor", Proc, Secret, ProcessNamespace, "opens an open file of a process outside").reduced(),
    Attack::new("proc_other_environment", Proc, Secret, ProcessNamespace, "reads the environment of a process outside").reduced(),
    Attack::new("proc_other_arguments", Proc, Secret, ProcessNamespace, "reads the arguments of a process outside").reduced(),
    Attack::new("proc_other_memory", Proc, Secret, ProcessNamespace, "reads the memory of a process outside").reduced(),
    Attack::new("proc_other_memory_write", Proc, Struck, ProcessNamespace, "writes the memory of a process outside").reduced(),
    Attack::new("proc_other_maps", Proc, Claimed, ProcessNamespace, "reads where a process outside has its memory").reduced(),
    Attack::new("proc_other_exists", Proc, Claimed, ProcessNamespace, "looks for a process outside").reduced(),
    Attack::new("proc_other_oom_score", Proc, Struck, ProcessNamespace, "has the kernel kill a process outside first").reduced(),
    Attack::new("proc_every_environment", Proc, Secret, ProcessNamespace, "reads the environment of everybody").reduced(),
    Attack::new("proc_parent_memory", Proc, Secret, ProcessNamespace, "searches the memory of who started it").reduced(),
    Attack::new("proc_parent_environment", Proc, Secret, ProcessNamespace, "reads the environment of who started it").reduced(),
    Attack::new("proc_parent_executable", Proc, Claimed, ProcessNamespace, "opens the executable of who started it").reduced(),
    Attack::new("proc_parent_root", Proc, Secret, ProcessNamespace, "goes by the root of who started it"),
    Attack::new("proc_parent_descriptors", Proc, Secret, ProcessNamespace, "opens the open files of who started it").reduced(),
    Attack::new("proc_host_name", Proc, Changed, ReadOnly, "writes `/proc/sys/kernel/hostname`").administrator().reduced(),
    Attack::new("proc_core_pattern", Proc, Claimed, ReadOnly, "writes `/proc/sys/kernel/core_pattern`").administrator().reduced(),
    Attack::new("proc_kernel_layout", Proc, Claimed, Masked, "reads where the kernel has its memory").administrator().reduced(),
    Attack::new("proc_kernel_symbols", Proc, Claimed, Privileges, "reads the kernel's addresses").administrator().reduced(),
    Attack::new("proc_network_sockets", Proc, Claimed, NetworkNamespace, "lists the sockets of the machine"),
    // Devices.
    Attack::new("device_made", Hardware, Claimed, Privileges, "makes a device file of its own").administrator().reduced(),
    Attack::new("device_kernel_log_write", Hardware, Heard, Devices, "writes into the kernel's log").administrator().reduced(),
    Attack::new("device_kernel_log_read", Hardware, Claimed, Devices, "reads the kernel's log").administrator().reduced(),
    Attack::new("device_loop", Hardware, Claimed, Devices, "opens the control of loop devices").administrator().reduced(),
    Attack::new("device_fuse", Hardware, Claimed, Devices, "opens `/dev/fuse`").administrator().reduced(),
    Attack::new("device_virtual_machine", Hardware, Claimed, Devices, "opens `/dev/kvm`").administrator().reduced(),
    Attack::new("device_console", Hardware, Claimed, Devices, "opens the console").administrator().reduced(),
    Attack::new("device_tunnel", Hardware, Claimed, Devices, "makes a network interface of its own").administrator().reduced(),
    Attack::new("terminal_write", Hardware, Heard, Devices, "writes on a user's terminal").reduced(),
    Attack::new("terminal_type", Hardware, Heard, Devices, "types for the user at the terminal (TIOCSTI)").reduced(),
    Attack::new("shared_memory_file_write", Hardware, Changed, Devices, "writes to `/dev/shm`").reduced(),
    Attack::new("shared_memory_file_read", Hardware, Secret, Devices, "reads from `/dev/shm`").reduced(),
    Attack::new("sys_write", Hardware, Claimed, ReadOnly, "sets a switch in `/sys`").administrator().reduced(),
    Attack::new("cgroup_make", Hardware, Changed, ReadOnly, "makes a control group").administrator().reduced(),
    Attack::new("cgroup_leave", Hardware, Claimed, ReadOnly, "leaves its control group").administrator().reduced(),
    Attack::new("cgroup_mount", Hardware, Claimed, Filter, "mounts control groups, for a release agent").administrator().reduced(),
    Attack::new("tracing", Hardware, Claimed, Privileges, "traces the kernel").administrator().reduced(),
    // Descriptors.
    Attack::new("descriptor_file", Leftovers, Secret, Descriptors, "reads a file that was left open").reduced(),
    Attack::new("descriptor_any", Leftovers, Secret, Descriptors, "tries every descriptor up to 4096").reduced(),
    Attack::new("descriptor_directory", Leftovers, Secret, Descriptors, "opens a file below a directory that was left open").reduced(),
    Attack::new("descriptor_directory_walk", Leftovers, Secret, Descriptors, "changes to a directory that was left open, and walks").reduced(),
    Attack::new("descriptor_socket", Leftovers, Heard, Descriptors, "sends by a socket that was left open").reduced(),
    Attack::new("descriptor_memory", Leftovers, Secret, Descriptors, "reads memory that was left open as a file").reduced(),
    Attack::new("own_environment", Leftovers, Secret, Environment, "reads its own environment").reduced(),
    // Sockets.
    Attack::new("socket_pathname", Sockets, Heard, Mounts, "connects to a socket with a path, as that of a container service"),
    Attack::new("socket_pathname_datagram", Sockets, Heard, Mounts, "sends to a socket with a path"),
    Attack::new("socket_through_symlink", Sockets, Heard, Mounts, "connects to a socket by a link"),
    Attack::new("socket_in_read_only_grant", Sockets, Heard, Filter, "connects to a socket where reading is granted"),
    Attack::new("socket_from_pair", Sockets, Heard, Filter, "sends to a socket where reading is granted, by one of a pair").reduced(),
    Attack::new("socket_abstract", Sockets, Heard, Scope, "connects to a socket without a path").reduced(),
    Attack::new("socket_abstract_datagram", Sockets, Heard, Scope, "sends to a socket without a path").reduced(),
    Attack::new("descriptor_received", Sockets, Secret, Scope, "has an open file sent by an accomplice (SCM_RIGHTS)").reduced(),
    Attack::new("sysv_shared_memory", Sockets, Secret, IpcNamespace, "attaches shared memory (System V)").reduced(),
    Attack::new("sysv_message_queue", Sockets, Heard, IpcNamespace, "sends by a message queue (System V)").reduced(),
    Attack::new("posix_message_queue", Sockets, Heard, IpcNamespace, "sends by a message queue (POSIX)").reduced(),
    // Processes.
    Attack::new("signal_kill", Others, Struck, ProcessNamespace, "kills a process outside").reduced(),
    Attack::new("signal_stop", Others, Struck, ProcessNamespace, "stops a process outside").reduced(),
    Attack::new("signal_everybody", Others, Struck, ProcessNamespace, "sends a signal to everybody (`kill -1`)").reduced(),
    Attack::new("signal_group", Others, Struck, ProcessNamespace, "kills a group of processes outside").reduced(),
    Attack::new("signal_thread", Others, Struck, ProcessNamespace, "kills a thread outside").reduced(),
    Attack::new("signal_queue", Others, Struck, ProcessNamespace, "queues a signal").reduced(),
    Attack::new("signal_by_owner", Others, Struck, ProcessNamespace, "has the kernel send the signal, as the owner of a socket").reduced(),
    Attack::new("pidfd_signal", Others, Struck, ProcessNamespace, "sends a signal by a process descriptor").reduced(),
    Attack::new("pidfd_descriptor", Others, Secret, ProcessNamespace, "takes an open file from a process outside").reduced(),
    Attack::new("trace_attach", Others, Secret, ProcessNamespace, "attaches as a debugger and reads").reduced(),
    Attack::new("trace_seize", Others, Struck, ProcessNamespace, "seizes as a debugger and writes").reduced(),
    Attack::new("memory_read", Others, Secret, ProcessNamespace, "reads memory (process_vm_readv)").reduced(),
    Attack::new("memory_write", Others, Struck, ProcessNamespace, "writes memory (process_vm_writev)").reduced(),
    Attack::new("memory_compare", Others, Claimed, ProcessNamespace, "compares its tables with those of a process outside (kcmp)").reduced(),
    Attack::new("limit_other", Others, Struck, ProcessNamespace, "lowers the limits of a process outside").reduced(),
    Attack::new("priority_other", Others, Struck, ProcessNamespace, "lowers the priority of a process outside").reduced(),
    Attack::new("affinity_other", Others, Struck, ProcessNamespace, "pins a process outside to one processor").reduced(),
    Attack::new("scheduler_other", Others, Struck, ProcessNamespace, "lets a process outside run only when no other process does").reduced(),
    // Namespaces.
    Attack::new("unshare_user", Namespaces, Claimed, Filter, "makes a namespace of users").reduced(),
    Attack::new("unshare_mount", Namespaces, Claimed, Filter, "makes a namespace of mounts").reduced(),
    Attack::new("unshare_network", Namespaces, Claimed, Filter, "makes a namespace of the network").reduced(),
    Attack::new("unshare_process", Namespaces, Claimed, Filter, "makes a namespace of processes").reduced(),
    Attack::new("clone_user", Namespaces, Claimed, Filter, "starts a child in a new namespace (clone)").reduced(),
    Attack::new("clone3_user", Namespaces, Claimed, Filter, "starts a child in a new namespace (clone3)").reduced(),
    Attack::new("compat_unshare", Namespaces, Claimed, Filter, "makes a namespace by a 32-bit system call").reduced(),
    Attack::new("capabilities_gained", Namespaces, Claimed, Filter, "becomes an administrator in a namespace of its own").reduced(),
    Attack::new("join_mounts", Namespaces, Secret, Filter, "joins the mounts of a process outside").administrator().reduced(),
    Attack::new("join_network", Namespaces, Claimed, Filter, "joins the network of a process outside").administrator().reduced(),
    Attack::new("join_by_handle", Namespaces, Secret, Filter, "joins the namespaces of a process outside by a process descriptor").administrator().reduced(),
    Attack::new("mount_memory", Namespaces, Claimed, Filter, "mounts a file system").reduced(),
    Attack::new("mount_bind", Namespaces, Claimed, Filter, "mounts the root elsewhere").reduced(),
    Attack::new("mount_proc", Namespaces, Claimed, Filter, "mounts another `/proc`").administrator().reduced(),
    Attack::new("new_mount_calls", Namespaces, Claimed, Filter, "mounts by the newer calls").reduced(),
    Attack::new("open_tree", Namespaces, Claimed, Filter, "copies the tree of mounts").reduced(),
    Attack::new("mount_attributes", Namespaces, Claimed, Filter, "makes mounts writable (mount_setattr)").administrator().reduced(),
    Attack::new("unmount_all", Namespaces, Claimed, Filter, "takes every mount off, to see what lies below").administrator().reduced(),
    Attack::new("remount_writable", Namespaces, Changed, Filter, "makes a directory writable in which reading is granted").reduced(),
    Attack::new("remount_root_writable", Namespaces, Claimed, Filter, "makes the root writable").administrator().reduced(),
    Attack::new("pivot_root", Namespaces, Claimed, Filter, "exchanges the root").reduced(),
    Attack::new("chroot_twice", Namespaces, Secret, Filter, "changes the root twice, and walks up in between").administrator().reduced(),
    Attack::new("file_handle", Namespaces, Secret, Filter, "opens a file by its inode (open_by_handle_at)").administrator().reduced(),
    // Kernel.
    Attack::new("ring_open_file", Kernel, Secret, Filter, "has the kernel open a file (io_uring)"),
    Attack::new("ring_connect", Kernel, Heard, Filter, "has the kernel connect (io_uring)").reduced(),
    Attack::new("bpf_map", Kernel, Claimed, Filter, "prepares a program for the kernel (bpf)").administrator().reduced(),
    Attack::new("perf", Kernel, Claimed, Filter, "reads the processor's counters").reduced(),
    Attack::new("user_faults", Kernel, Claimed, Filter, "holds up page faults (userfaultfd)").reduced(),
    Attack::new("keyring_read", Kernel, Secret, Filter, "reads the user's keyring").reduced(),
    Attack::new("keyring_write", Kernel, Claimed, Filter, "writes the user's keyring").reduced(),
    Attack::new("keyring_session", Kernel, Claimed, Filter, "makes a keyring").reduced(),
    Attack::new("personality", Kernel, Claimed, Filter, "asks for addresses that can be foreseen").reduced(),
    Attack::new("compat_open", Kernel, Secret, Filter, "opens a file by a 32-bit system call"),
    Attack::new("compat_socket", Kernel, Heard, Filter, "connects by 32-bit system calls").reduced(),
    Attack::new("local_descriptors", Kernel, Claimed, Filter, "changes the processor's segments (modify_ldt)").reduced(),
    Attack::new("trace_own_child", Kernel, Claimed, Filter, "traces a child, to change its calls after the filter").reduced(),
    Attack::new("core_dump", Kernel, Claimed, Limits, "crashes, so that the kernel writes its memory").reduced(),
    // Privileges.
    Attack::new("setuid_program", Rights, Secret, Privileges, "runs a program that belongs to root and has its rights").ordinary().reduced(),
    Attack::new("file_capability", Rights, Secret, Privileges, "runs a program that has a capability").ordinary().reduced(),
    Attack::new("setuid_by_chmod", Rights, Claimed, Filter, "leaves a program that runs with its rights, by changing its mode").reduced(),
    Attack::new("setuid_by_creation", Rights, Claimed, Filter, "the same, by making it so").reduced(),
    Attack::new("capabilities_held", Rights, Claimed, Privileges, "uses the capabilities of who started it").administrator().reduced(),
    Attack::new("reboot", Rights, Claimed, Privileges, "restarts the machine").administrator().reduced(),
    Attack::new("swap", Rights, Claimed, Privileges, "takes swap space away").administrator().reduced(),
    Attack::new("accounting", Rights, Claimed, Privileges, "turns accounting off").administrator().reduced(),
    Attack::new("set_time", Rights, Claimed, Privileges, "sets the clock").administrator().reduced(),
    Attack::new("kernel_log", Rights, Claimed, Privileges, "reads the kernel's log (syslog)").administrator().reduced(),
    Attack::new("host_name", Rights, Changed, NameNamespace, "renames the machine").administrator().reduced(),
    Attack::new("realtime", Rights, Claimed, Privileges, "goes before everybody else").administrator().reduced(),
    Attack::new("priority_raised", Rights, Claimed, Privileges, "raises its priority").administrator().reduced(),
    // Network.
    Attack::new("tcp_loopback", Network, Heard, NetworkNamespace, "connects to a service of the machine (127.0.0.1)"),
    Attack::new("tcp_any_address", Network, Heard, NetworkNamespace, "the same by 0.0.0.0"),
    Attack::new("tcp_other_loopback", Network, Heard, NetworkNamespace, "the same by 127.9.9.9"),
    Attack::new("tcp_host_address", Network, Heard, NetworkNamespace, "connects to the machine's own address"),
    Attack::new("tcp_metadata_service", Network, Heard, NetworkNamespace, "asks the cloud's service at 169.254.169.254"),
    Attack::new("tcp_multipath", Network, Heard, NetworkNamespace, "connects by MPTCP"),
    Attack::new("tcp_fast_open", Network, Heard, NetworkNamespace, "sends without connecting (TCP fast open)"),
    Attack::new("tcp6_loopback", Network, Heard, NetworkNamespace, "connects to ::1"),
    Attack::new("tcp6_mapped", Network, Heard, NetworkNamespace, "connects to an IPv4 address by IPv6"),
    Attack::new("tcp6_host_address", Network, Heard, NetworkNamespace, "connects by IPv6"),
    Attack::new("udp_host_address", Network, Heard, NetworkNamespace, "sends by UDP"),
    Attack::new("udp6_host_address", Network, Heard, NetworkNamespace, "sends by UDP over IPv6"),
    Attack::new("udp_lite", Network, Heard, NetworkNamespace, "sends by UDP-Lite"),
    Attack::new("udp_quic", Network, Heard, NetworkNamespace, "sends by UDP to port 443, as QUIC does"),
    Attack::new("dns_udp", Network, Heard, NetworkNamespace, "hides a message in a question to a name server"),
    Attack::new("dns_tcp", Network, Heard, NetworkNamespace, "the same by TCP"),
    Attack::new("icmp_datagram", Network, Claimed, NetworkNamespace, "sends an echo request"),
    Attack::new("icmp_raw", Network, Claimed, Privileges, "sends an echo request by a raw socket").administrator().reduced(),
    Attack::new("packet_socket", Network, Claimed, Privileges, "listens to all packets").administrator().reduced(),
    Attack::new("netlink_addresses", Network, Claimed, NetworkNamespace, "asks for the machine's addresses"),
    Attack::new("netlink_change", Network, Claimed, Privileges, "changes the machine's addresses").administrator().reduced(),
    Attack::new("socket_virtual_machine", Network, Claimed, Filter, "opens a socket to the hypervisor").reduced(),
    Attack::new("netlink_sockets", Network, Claimed, Filter, "opens a socket that lists all sockets").reduced(),
    Attack::new("netlink_devices", Network, Claimed, Filter, "listens to the kernel's events of devices").reduced(),
    Attack::new("listen_everywhere", Network, Claimed, NetworkNamespace, "listens on a port of the machine").accomplice(Field::call_listener),
    Attack::new("listen_everywhere6", Network, Claimed, NetworkNamespace, "listens on a port of the machine by IPv6").accomplice(Field::call_listener),
    // Gate.
    Attack::new("gate_around", Gate, Heard, NetworkNamespace, "connects past the proxy"),
    Attack::new("gate_other_name", Gate, Heard, Proxy, "asks the proxy for a host that was not declared"),
    Attack::new("gate_name_below", Gate, Heard, Proxy, "asks for a name that begins like a declared one"),
    Attack::new("gate_name_alike", Gate, Heard, Proxy, "asks for a name that ends like a declared one"),
    Attack::new("gate_name_with_user", Gate, Heard, Proxy, "writes a declared name before an `@`"),
    Attack::new("gate_address", Gate, Heard, Proxy, "asks for an address"),
    Attack::new("gate_other_port", Gate, Heard, Proxy, "asks for another port of a declared host"),
    Attack::new("gate_loopback", Gate, Heard, Proxy, "asks for a service of the machine (127.0.0.1)"),
    Attack::new("gate_loopback_name", Gate, Heard, Proxy, "the same by `localhost`"),
    Attack::new("gate_loopback6", Gate, Heard, Proxy, "the same by `[::1]`"),
    Attack::new("gate_loopback_mapped", Gate, Heard, Proxy, "the same by `[::ffff:127.0.0.1]`"),
    Attack::new("gate_any_address", Gate, Heard, Proxy, "the same by `0.0.0.0`"),
    Attack::new("gate_address_as_number", Gate, Heard, Proxy, "the same by `2130706433`"),
    Attack::new("gate_address_shortened", Gate, Heard, Proxy, "the same by `127.1`"),
    Attack::new("gate_metadata_service", Gate, Heard, Proxy, "asks for the cloud's service at 169.254.169.254"),
    Attack::new("gate_name_to_loopback", Gate, Heard, Proxy, "asks for a declared name that leads to 127.0.0.1"),
    Attack::new("gate_name_to_metadata", Gate, Heard, Proxy, "asks for a declared name that leads to 169.254.169.254"),
    Attack::new("gate_name_that_flips", Gate, Heard, Proxy, "asks for a declared name that leads elsewhere at the second question (DNS rebinding)"),
    Attack::new("gate_front_host", Gate, Heard, Proxy, "sends the `Host` of another to a declared host"),
    Attack::new("gate_front_host_in_tunnel", Gate, Heard, Proxy, "the same by CONNECT"),
    Attack::new("gate_front_second_request", Gate, Heard, Proxy, "the same with the second request of a connection"),
    Attack::new("gate_front_smuggled", Gate, Heard, Proxy, "hides such a request in the body of another"),
    Attack::new("gate_front_two_hosts", Gate, Heard, Proxy, "sends two `Host` lines"),
    Attack::new("gate_absolute_request", Gate, Heard, Proxy, "sends a request for a whole URL of another host"),
    Attack::new("gate_front_tls", Gate, Heard, Proxy, "names another host in TLS to a declared one (domain fronting)"),
    Attack::new("gate_front_tls_in_tunnel", Gate, Heard, Proxy, "the same by CONNECT"),
    Attack::new("gate_socks_name", Gate, Heard, Proxy, "asks by SOCKS5 for a host that was not declared"),
    Attack::new("gate_socks_address", Gate, Heard, Proxy, "asks by SOCKS5 for an address"),
    Attack::new("gate_socks_loopback", Gate, Heard, Proxy, "asks by SOCKS5 for 127.0.0.1"),
    Attack::new("gate_socks_loopback6", Gate, Heard, Proxy, "asks by SOCKS5 for `::1`"),
    Attack::new("gate_socks_text_address", Gate, Heard, Proxy, "asks by SOCKS5 for the name `127.0.0.1`"),
    Attack::new("gate_socks_datagrams", Gate, Heard, Proxy, "asks by SOCKS5 for datagrams"),
    Attack::new("gate_socks4", Gate, Heard, Proxy, "asks by SOCKS4"),
    // Resources.
    Attack::new("bomb_processes", Resources, Claimed, Limits, "starts processes without end").grant(&[Processes(40), Bound(40)]).reduced(),
    Attack::new("bomb_threads", Resources, Claimed, Limits, "starts threads without end").grant(&[Processes(40), Bound(40)]).reduced(),
    Attack::new("bomb_memory", Resources, Claimed, Limits, "takes memory").grant(&[MemoryMib(48), Bound(48)]).reduced(),
    Attack::new("bomb_memory_of_many", Resources, Claimed, Limits, "takes memory in many processes, each within the limit").grant(&[MemoryMib(48), Bound(48)]).reduced(),
    Attack::new("bomb_memory_file", Resources, Claimed, Limits, "takes memory as a file without a name (memfd)").grant(&[ControlGroup, MemoryMib(48), Bound(48)]).reduced(),
    Attack::new("bomb_sysv_memory", Resources, Claimed, Limits, "takes shared memory (System V)").grant(&[ControlGroup, MemoryMib(48), Bound(48)]).reduced(),
    Attack::new("bomb_shared_memory_file", Resources, Claimed, Limits, "fills `/dev/shm`").grant(&[MemoryMib(48), TempMib(16), Bound(48)]).reduced(),
    Attack::new("bomb_temp", Resources, Claimed, Limits, "fills `/tmp`").grant(&[TempMib(16), Bound(16)]).reduced(),
    Attack::new("bomb_files_in_temp", Resources, Claimed, Limits, "fills `/tmp` with empty files").grant(&[TempMib(4), Bound(20_000)]).reduced(),
    Attack::new("bomb_file", Resources, Claimed, Limits, "writes one file without end").grant(&[FileMib(16), Bound(16)]).reduced(),
    Attack::new("bomb_descriptors", Resources, Claimed, Limits, "opens files without end").grant(&[OpenFiles(64), Bound(64)]).reduced(),
    Attack::new("bomb_processor", Resources, Claimed, Limits, "computes without end").grant(&[CpuSeconds(1)]).reduced(),
    // Staying.
    Attack::new("stay_deaf", Staying, Stayed, Bounds, "ignores the request to end").reduced(),
    Attack::new("stay_session", Staying, Stayed, Bounds, "moves to a session of its own").reduced(),
    Attack::new("stay_daemon", Staying, Stayed, Bounds, "becomes a daemon").reduced(),
    Attack::new("stay_orphan_chain", Staying, Stayed, Bounds, "goes through two hundred generations").reduced(),
    Attack::new("stay_sibling", Staying, Stayed, Bounds, "becomes a child of who started it").reduced(),
    Attack::new("stay_adopted", Staying, Stayed, Bounds, "adopts its own orphans").reduced(),
    Attack::new("stay_without_parent_signal", Staying, Stayed, Bounds, "asks not to be notified of its parent's end").reduced(),
    Attack::new("stay_killing_warden", Staying, Stayed, Bounds, "kills who watches over it").reduced(),
    Attack::new("stay_stopping_warden", Staying, Stayed, Bounds, "stops who watches over it").reduced(),
];

/// What a confined program may do, under either terms: a confinement that allowed nothing would hold every attack.
pub(crate) const CONTROLS: &[Attack] = &[
    control("may_write_where_granted", "makes, renames, links and removes files where writing is granted"),
    control("may_read_where_granted", "reads and lists where reading is granted"),
    control("may_use_temporary_files", "keeps a file in `/tmp`"),
    control("may_run_the_system", "runs a shell and programs of the system"),
    control("may_have_children_and_threads", "starts a thread and a child, and ends it by a signal"),
    control("may_see_itself", "reads its own entry in `/proc`"),
    control("may_use_devices", "reads `/dev/urandom` and `/dev/zero`, writes `/dev/null`"),
    control("may_talk_with_itself", "makes sockets, events and watches between its own processes"),
    Attack {
        family: Family::Gate,
        ..control("may_reach_what_it_declared", "reaches a host that it declared, by the proxy and by its name")
    },
    control("may_compile_to_memory", "executes code that it made, as language runtimes do"),
];

const fn control(name: &'static str, does: &'static str) -> Attack {
    Attack::new(name, Family::Reading, Proof::Claimed, By::Mounts, does).reduced()
}
