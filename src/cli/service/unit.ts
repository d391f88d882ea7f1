/**
 * The systemd unit of a server or an agent. Pure.
 *
 * Upstream: k3s's install.sh. Differs: `Restart=on-failure`, so that `keelson down` is not undone by systemd; agents report
 * readiness too (`Type=notify`).
 */

export type ServiceRole = 'server' | 'agent';

/** The command of the unit. */
export interface Service {
  readonly role: ServiceRole;
  /** Program and arguments. */
  readonly command: readonly string[];
  /** Absolute path. */
  readonly dataDir: string;
}

const DEFAULT_CLUSTER = 'keelson';
/** systemd ignores keys that begin with `X-`. */
const DATA_DIR_KEY = 'X-Keelson-Data-Directory';

/** The file name of the unit of a cluster. */
export function unitName(role: ServiceRole, cluster: string): string {
  const suffixes = [role === 'agent' ? '-agent' : '', cluster === DEFAULT_CLUSTER ? '' : `-${cluster}`];
  return `keelson${suffixes.join('')}.service`;
}

/** Whether the unit of a server of that cluster would have the name of an agent's. */
export function isAgentName(cluster: string): boolean {
  return cluster === 'agent' || cluster.startsWith('agent-');
}

export function unitText({ role, command, dataDir }: Service): string {
  return `[Unit]
Description=Keelson ${role} (Kubernetes)
Wants=network-online.target
After=network-online.target
${DATA_DIR_KEY}=${encodeURI(dataDir)}

[Service]
Type=notify
EnvironmentFile=-/etc/default/%N
EnvironmentFile=-/etc/sysconfig/%N
# The modules may be built in, or there may be no modprobe.
ExecStartPre=-/bin/sh -c 'modprobe -qa overlay br_netfilter nf_tables'
ExecStart=${command.map(quoted).join(' ')}
# A stop leaves pods, containerd and DNS running; the next start takes them over.
KillMode=process
Delegate=yes
# keelson down and wrong usage are no failures that another start would cure.
Restart=on-failure
RestartSec=5s
RestartPreventExitStatus=2
TimeoutStartSec=0
LimitNOFILE=1048576
LimitNPROC=infinity
LimitCORE=infinity
TasksMax=infinity

[Install]
WantedBy=multi-user.target
`;
}

/** The data directory that the unit is of; undefined when `keelson install` did not write it. */
export function unitDataDir(text: string): string | undefined {
  const [, encoded] = new RegExp(`^${DATA_DIR_KEY}=(.*)$`, 'm').exec(text) ?? [];
  try {
    return encoded === undefined ? undefined : decodeURI(encoded);
  } catch {
    return undefined; // A stray %, which this program never writes.
  }
}

/** A word as systemd reads it: specifiers and variables are escaped, and so is what would end the word. */
function quoted(word: string): string {
  const escaped = word
    .replaceAll('\\', '\\\\')
    .replaceAll('"', String.raw`\"`)
    .replaceAll('\n', String.raw`\n`)
    .replaceAll('%', '%%')
    .replaceAll('$', '$$$$');
  return /^[-\w./:=,@+%$]+$/.test(word) ? escaped : `"${escaped}"`;
}
