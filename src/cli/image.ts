/** `keelson image`: loads, builds, lists and removes images on the nodes of this machine without a registry. */
import { Command, Option } from 'commander';
import { columns } from './columns.ts';
import { dataDirOption } from './cluster-options.ts';
import { BUILDERS, buildImage, type BuildOptions } from './image/build.ts';
import { loadText, withMachineImages } from './image/with-machine-images.ts';
import { UserError } from './usage-error.ts';

interface RawOptions {
  readonly dataDir: string;
}

export function imageCommand(): Command {
  return new Command('image')
    .description('images of this machine’s nodes: load, build, list, remove, pull, prune')
    .addCommand(loadCommand())
    .addCommand(buildCommand())
    .addCommand(listCommand())
    .addCommand(removeCommand())
    .addCommand(pullCommand())
    .addCommand(pruneCommand());
}

function loadCommand(): Command {
  return new Command('load')
    .description('load images from archives (docker save, OCI; also gzip or zstd), Docker or Podman')
    .argument('<sources...>', 'FILE, - for standard input, docker:NAME or podman:NAME')
    .addOption(dataDirOption())
    .option('--image <name>', 'name for an image whose archive has none')
    .action((sources: readonly string[], raw: RawOptions & { image?: string }) =>
      withMachineImages(raw.dataDir, async (images) => {
        for (const source of sources) process.stdout.write(await loadText(images, source, raw.image));
      }),
    );
}

function buildCommand(): Command {
  return new Command('build')
    .description('build an image with the builder of this machine and load it')
    .argument('[context]', 'folder of the build', '.')
    .addOption(dataDirOption())
    .requiredOption('-t, --tag <name>', 'name of the image')
    .option('-f, --file <file>', 'the Dockerfile (default: Dockerfile in the context)')
    .addOption(
      new Option('--build-arg <name=value>', 'argument of the build; may be given several times').argParser(
        (text: string, before: readonly string[] = []) => [...before, text],
      ),
    )
    .option('--target <stage>', 'stage of the Dockerfile')
    .addOption(new Option('--builder <program>', 'which (default: the first that works)').choices(BUILDERS))
    .action((context: string, raw: RawOptions & Omit<BuildOptions, 'context'>) =>
      withMachineImages(raw.dataDir, async (images) => {
        process.stdout.write(await buildImage(images, { ...raw, context }));
      }),
    );
}

function listCommand(): Command {
  return new Command('ls')
    .description('list the images')
    .addOption(dataDirOption())
    .addOption(new Option('-o, --output <format>', 'text or json').choices(['text', 'json']).default('text'))
    .action((raw: RawOptions & { output: string }) =>
      withMachineImages(raw.dataDir, async (images) => {
        const list = [...(await images.list())].sort((a, b) =>
          (a.repoTags[0] ?? '~') < (b.repoTags[0] ?? '~') ? -1 : 1,
        );
        if (raw.output === 'json') {
          process.stdout.write(`${JSON.stringify(list, undefined, 2)}\n`);
          return;
        }
        const rows = list.flatMap(({ id, size, repoTags }) =>
          (repoTags.length === 0 ? ['<none>'] : repoTags).map((tag) => [tag, shortId(id), megabytes(size)]),
        );
        process.stdout.write(columns([['IMAGE', 'ID', 'SIZE'], ...rows]));
      }),
    );
}

function removeCommand(): Command {
  return new Command('rm')
    .description('remove images with all their names')
    .argument('<images...>', 'names or ids')
    .addOption(dataDirOption())
    .action((names: readonly string[], raw: RawOptions) =>
      withMachineImages(raw.dataDir, async (images) => {
        const missing: string[] = [];
        for (const name of names) if (!(await images.remove(name))) missing.push(name);
        if (missing.length > 0) throw new UserError(`no such image: ${missing.join(', ')}`);
      }),
    );
}

function pullCommand(): Command {
  return new Command('pull')
    .description('pull images from their registries')
    .argument('<images...>', 'names')
    .addOption(dataDirOption())
    .action((names: readonly string[], raw: RawOptions) =>
      withMachineImages(raw.dataDir, async (images) => {
        for (const name of names) process.stdout.write(`pulled ${name} (${shortId(await images.pull(name))})\n`);
      }),
    );
}

function pruneCommand(): Command {
  return new Command('prune')
    .description('remove the images that no container has')
    .addOption(dataDirOption())
    .action((raw: RawOptions) =>
      withMachineImages(raw.dataDir, async (images) => {
        const removed = await images.prune();
        const bytes = removed.reduce((sum, { size }) => sum + size, 0);
        for (const { id, repoTags } of removed) process.stdout.write(`removed ${repoTags.join(', ') || shortId(id)}\n`);
        process.stdout.write(`${removed.length} images, ${megabytes(bytes)}\n`);
      }),
    );
}

function shortId(id: string): string {
  return id.replace('sha256:', '').slice(0, 12);
}

function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
