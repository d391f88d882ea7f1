/**
 * containerd's configuration for one instance of Keelson, as TOML. Pure: equal options give equal text, whose hash
 * identifies the configuration of a running daemon.
 *
 * Written as version 2, which 1.6 and 1.7 read and 2.x migrates.
 */

/** All inputs of the configuration. Paths are absolute. */
export interface ContainerdOptions {
  /** Persistent data. */
  readonly rootDir: string;
  /** Run-time state, best on a tmpfs. */
  readonly stateDir: string;
  readonly socketPath: string;
  readonly cniBinDir: string;
  readonly cniConfDir: string;
  /** Directory of `<registry>/hosts.toml` files. */
  readonly registryConfigDir: string;
  /** Credentials by host, as containerd names them. */
  readonly registryAuth?: Readonly<Record<string, Readonly<Record<string, string>>>> | undefined;
  readonly sandboxImage: string;
  readonly cgroupDriver: 'cgroupfs' | 'systemd';
  /** Set where the process lacks CAP_SYS_RESOURCE: runc fails to lower oom_score_adj there. */
  readonly restrictOomScoreAdj: boolean;
  /** Default overlayfs. */
  readonly snapshotter?: string;
}

type TomlValue = string | number | boolean | readonly string[];

function toml(value: TomlValue): string {
  return JSON.stringify(value);
}

function section(path: readonly string[], values: Readonly<Record<string, TomlValue>>): string {
  const name = path.map((part) => (/^[A-Za-z0-9_-]+$/.test(part) ? part : JSON.stringify(part))).join('.');
  const lines = Object.entries(values).map(([key, value]) => `  ${key} = ${toml(value)}`);
  return [`[${name}]`, ...lines, ''].join('\n');
}

function runtimeSections(base: readonly string[], options: ContainerdOptions): string[] {
  const runc = [...base, 'containerd', 'runtimes', 'runc'];
  return [
    section(runc, { runtime_type: 'io.containerd.runc.v2' }),
    section([...runc, 'options'], { SystemdCgroup: options.cgroupDriver === 'systemd' }),
  ];
}

/** The configuration file's text. */
export function containerdConfig(options: ContainerdOptions): string {
  const cri = ['plugins', 'io.containerd.grpc.v1.cri'];
  const head = [`version = 2`, `root = ${toml(options.rootDir)}`, `state = ${toml(options.stateDir)}`, ''].join('\n');
  return [
    head,
    section(['grpc'], { address: options.socketPath }),
    section(['plugins', 'io.containerd.internal.v1.opt'], { path: `${options.rootDir}/opt` }),
    section(cri, {
      sandbox_image: options.sandboxImage,
      restrict_oom_score_adj: options.restrictOomScoreAdj,
      netns_mounts_under_state_dir: true,
      enable_unprivileged_ports: true,
      enable_unprivileged_icmp: true,
      disable_tcp_service: true,
      stream_server_address: '127.0.0.1',
      stream_server_port: '0',
      max_concurrent_downloads: 3,
      tolerate_missing_hugetlb_controller: true,
    }),
    section([...cri, 'containerd'], { snapshotter: options.snapshotter ?? 'overlayfs', default_runtime_name: 'runc' }),
    ...runtimeSections(cri, options),
    section([...cri, 'cni'], { bin_dir: options.cniBinDir, conf_dir: options.cniConfDir, max_conf_num: 1 }),
    section([...cri, 'registry'], { config_path: options.registryConfigDir }),
    ...Object.entries(options.registryAuth ?? {}).map(([host, auth]) =>
      section([...cri, 'registry', 'configs', host, 'auth'], auth),
    ),
  ].join('\n');
}
