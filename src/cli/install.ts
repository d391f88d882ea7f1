/** `keelson install`: installs a server or an agent as a systemd service. */
import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { Command } from 'commander';
import { requestControl } from '../cluster/instance/control-client.ts';
import { agentOptions, parseAgentOptions, type RawAgentOptions } from './agent.ts';
import { checkClusterName, nameOfDataDir } from './arguments/cluster-name.ts';
import { parseServerCommand, serverOptions, type RawServerCommand } from './server.ts';
import { serviceFlags } from './service/arguments.ts';
import {
  installService,
  isActive,
  requireSystemd,
  SYSTEM_UNITS,
  tokenFile,
  type UnitPlace,
} from './service/install-service.ts';
import { isAgentName, unitName, unitText, type ServiceRole } from './service/unit.ts';
import { flagOf, S3_SECRET_OPTIONS } from './snapshot/s3-options.ts';
import { UserError } from './usage-error.ts';

interface RawInstall {
  readonly dataDir: string;
  readonly name?: string;
  readonly token?: string;
  readonly dryRun?: boolean;
  readonly unitDir?: string;
  readonly start: boolean;
}

/** Flags of `install` itself, and the token, which is written to a file. */
const OWN_FLAGS: readonly string[] = ['--dry-run', '--unit-dir', '--no-start', '--token'];

export function installCommand(): Command {
  const server = serverOptions(new Command('server').description('a server, with the flags of keelson server'));
  const agent = agentOptions(new Command('agent').description('an agent, with the flags of keelson agent'));
  return new Command('install')
    .description('make a server or an agent a service of systemd, which starts it with the machine')
    .addCommand(
      withInstallOptions(server).action(async (raw: RawServerCommand & RawInstall) => {
        await parseServerCommand(raw);
        await install('server', server, raw);
      }),
    )
    .addCommand(
      withInstallOptions(agent).action(async (raw: RawAgentOptions & RawInstall) => {
        await parseAgentOptions(raw);
        await install('agent', agent, raw);
      }),
    );
}

function withInstallOptions(command: Command): Command {
  return command
    .option('--dry-run', 'print the unit and change nothing')
    .option('--no-start', 'write the unit, but neither enable nor start it')
    .option('--unit-dir <dir>', `write the unit into this folder and leave systemd alone (default: ${SYSTEM_UNITS})`);
}

async function install(role: ServiceRole, command: Command, raw: RawInstall): Promise<void> {
  refuseSecrets(command);
  const dataDir = resolve(raw.dataDir);
  const cluster = raw.name === undefined ? nameOfDataDir(dataDir) : checkClusterName(raw.name);
  if (role === 'server' && isAgentName(cluster))
    throw new UserError(
      `--name: ${unitName(role, cluster)} is the unit of an agent: give the server another --name`,
      2,
    );
  const place = { dir: resolve(raw.unitDir ?? SYSTEM_UNITS), name: unitName(role, cluster) };
  const token = command.getOptionValueSource('token') === 'cli' ? raw.token : undefined;
  const flags = serviceFlags(command, OWN_FLAGS);
  if (token !== undefined) flags.push(`--token-file=${tokenFile({ ...place, dir: SYSTEM_UNITS })}`);
  const text = unitText({ role, dataDir, command: [...ownProgram(), role, ...flags] });
  if (raw.dryRun === true) {
    process.stdout.write(text);
    return;
  }
  await write({ ...place, text, dataDir, token, start: raw.start && raw.unitDir === undefined });
}

/** Refuses secrets in the unit, which all users of the machine can read. */
function refuseSecrets(command: Command): void {
  const attribute = S3_SECRET_OPTIONS.find((each) => command.getOptionValueSource(each) === 'cli');
  if (attribute !== undefined)
    throw new UserError(`${flagOf(attribute)}: everybody reads a unit; name a file by --s3-credentials-file`, 2);
}

async function write(service: Parameters<typeof installService>[1]): Promise<void> {
  const { dir, name, start, dataDir } = service;
  const { createNodePlatform } = await import('../platform/node/node-platform.ts');
  const platform = createNodePlatform({ log: { level: 'warn' } });
  try {
    if (dir === SYSTEM_UNITS) {
      await requireSystemd(platform);
      if (process.getuid?.() !== 0) throw new UserError('keelson install needs root; --dry-run prints the unit');
    }
    if (start) await refuseSecond(platform, service);
    const outcome = await installService(platform, service);
    process.stdout.write(`${dir}/${name} ${outcome === 'written' ? 'was written' : 'is as it should be'}\n`);
    process.stdout.write(`${nextStep(service, start)} (keelson uninstall --data-dir ${dataDir} takes it away)\n`);
  } finally {
    platform.close();
  }
}

function nextStep({ name }: UnitPlace, started: boolean): string {
  if (started) return `${name} runs and starts with the machine: journalctl -fu ${name} shows its log`;
  return `next: systemctl daemon-reload && systemctl enable --now ${name}`;
}

/** Refuses a cluster that was started by hand, since it would keep the service from starting. */
async function refuseSecond(
  platform: Parameters<typeof isActive>[0],
  service: { name: string; dataDir: string },
): Promise<void> {
  const { name, dataDir } = service;
  const running = (await requestControl(dataDir, 'pid')) as { pid?: number } | undefined;
  if (running === undefined || (await isActive(platform, name))) return;
  throw new UserError(
    `keelson runs on ${dataDir} (pid ${running.pid}) and is no service: "kill ${running.pid}" ends it and leaves its pods running; then install again`,
  );
}

/** This program's command line for the service. Throws `UserError` if the program may be deleted. */
function ownProgram(): readonly string[] {
  const program = realpathSync(process.argv[1] ?? '');
  if (/\/_npx\//.test(program))
    throw new UserError(
      `${program} is in npx's cache, which may be emptied: npm install -g keelson, then keelson install`,
    );
  return [process.execPath, ...process.execArgv, program];
}
