/** The commands of `keelson` and the program that they make. */
import { Command } from 'commander';
import { VERSION } from '../base/version.ts';

/**
 * Every command. A new one: a file and a line here. Each is loaded alone: what one command needs, others do not hold in
 * memory (a kubelet has no use for the API server's flags, and they bring the API server along).
 */
const commands: Readonly<Record<string, () => Promise<() => Command>>> = {
  up: async () => (await import('./up.ts')).upCommand,
  server: async () => (await import('./server.ts')).serverCommand,
  agent: async () => (await import('./agent.ts')).agentCommand,
  token: async () => (await import('./token.ts')).tokenCommand,
  proxy: async () => (await import('./proxy.ts')).proxyCommand,
  ls: async () => (await import('./ls.ts')).lsCommand,
  node: async () => (await import('./node.ts')).nodeCommand,
  kubeconfig: async () => (await import('./kubeconfig.ts')).kubeconfigCommand,
  kubectl: async () => (await import('./kubectl.ts')).kubectlCommand,
  addons: async () => (await import('./addons.ts')).addonsCommand,
  image: async () => (await import('./image.ts')).imageCommand,
  logs: async () => (await import('./logs.ts')).logsCommand,
  completion: async () => {
    const { completionCommand } = await import('./completion.ts');
    return () => completionCommand(() => program([]));
  },
  install: async () => (await import('./install.ts')).installCommand,
  uninstall: async () => (await import('./uninstall.ts')).uninstallCommand,
  down: async () => (await import('./down.ts')).downCommand,
  status: async () => (await import('./status.ts')).statusCommand,
  doctor: async () => (await import('./doctor.ts')).doctorCommand,
  certificate: async () => (await import('./certificate.ts')).certificateCommand,
  encryption: async () => (await import('./encryption.ts')).encryptionCommand,
  console: async () => (await import('./console.ts')).consoleCommand,
  why: async () => (await import('./why.ts')).whyCommand,
  mcp: async () => (await import('./mcp.ts')).mcpCommand,
  trace: async () => (await import('./trace.ts')).traceCommand,
  history: async () => (await import('./history.ts')).historyCommand,
  diff: async () => (await import('./diff.ts')).diffCommand,
  get: async () => (await import('./get.ts')).getCommand,
  restore: async () => (await import('./restore.ts')).restoreCommand,
  kubelet: async () => (await import('./kubelet.ts')).kubeletCommand,
  scheduler: async () => (await import('./scheduler.ts')).schedulerCommand,
  'controller-manager': async () => (await import('./controller-manager.ts')).controllerManagerCommand,
  sim: async () => (await import('./sim.ts')).simCommand,
  apiserver: async () => (await import('./apiserver.ts')).apiServerCommand,
  store: async () => (await import('./store.ts')).storeCommand,
  snapshot: async () => (await import('./snapshot.ts')).snapshotCommand,
  'rolling-update': async () => (await import('./rolling-update.ts')).rollingUpdateCommand,
  'gateway-server': async () => (await import('./gateway-server.ts')).gatewayServerCommand,
  'dns-server': async () => (await import('./dns-server.ts')).dnsServerCommand,
};

const HIDDEN: ReadonlySet<string> = new Set(['dns-server', 'gateway-server']);

/** The program with only the named command loaded; with all commands when none is named, for help and suggestions. */
export async function program([first = '']: readonly string[]): Promise<Command> {
  const root = new Command('keelson')
    .description('Kubernetes for Node.js')
    .version(VERSION, '--version', 'print the version')
    .enablePositionalOptions(); // After a command's name --version belongs to the command: components print upstream's.
  const names = Object.hasOwn(commands, first) ? [first] : Object.keys(commands);
  const loaded = await Promise.all(names.map((name) => commands[name]!()));
  names.forEach((name, index) => root.addCommand(loaded[index]!(), { hidden: HIDDEN.has(name) }));
  for (const command of root.commands)
    if (command.version() === undefined) command.version(VERSION, '--version', 'print the version');
  const all = [root, ...root.commands, ...root.commands.flatMap(({ commands: own }) => own)];
  const { addNames, settleOptions } = await import('./arguments/settle-options.ts');
  addNames(all);
  root.hook('preAction', (_root, command) => settleOptions(command));
  for (const command of all) {
    command
      .exitOverride()
      .showSuggestionAfterError(true)
      .configureOutput({ outputError: (text, write) => write(oneLine(text)) });
  }
  return root;
}

/** Joins a text to one line: commander prints suggestions on a second line, and some errors quote sources. */
export function oneLine(text: string): string {
  return `keelson: ${text
    .trim()
    .replace(/^error: /, '')
    .replace(/\s*\n\s*/g, ' ')}\n`;
}
