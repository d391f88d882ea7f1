/**
 * Scenarios: a cluster, steps, faults and expectations as a YAML file, run from a seed (`scenario-run.ts`). In place of a
 * duration or a number, `1s..20s` or `1..30` stands for a value drawn from the seed, so that different seeds test different
 * orders of events.
 */
import { parseYaml, yamlLine } from '../api/codec/yaml.ts';
import { image, type SimImage, type SimImageSpec } from '../cri/sim/sim-image.ts';
import type { Random } from '../platform/random.ts';
import { createSeededRandom } from '../platform/sim/random.ts';
import { imageFields, nodeFields, plainImageFields } from './scenario-fields.ts';
import {
  described,
  fields,
  listOf,
  listOr,
  namesTo,
  number,
  type Path,
  rangeOf,
  type Schema,
  seedNumber,
  type Shape,
  ShapeError,
  text,
} from './scenario-shape.ts';
import { type ScenarioStep, stepList, stepSchema } from './scenario-steps.ts';
import type { SimNodeSpec } from './sim-node-spec.ts';

export type { ScenarioStep } from './scenario-steps.ts';

/** The content of a scenario file. */
export interface Scenario {
  readonly name: string;
  /** Upstream's guarantee that the scenario tests. */
  readonly about?: string;
  /** The only seed to run, of a kept failure or a replay file. */
  readonly seed?: number;
  /** Seeds that once failed, which run before all others. */
  readonly regressions?: readonly number[];
  readonly nodes?: number | readonly Partial<SimNodeSpec>[];
  readonly controllers?: readonly string[];
  /** A KubeSchedulerConfiguration or a Policy. */
  readonly schedulerConfig?: string;
  readonly images?: Readonly<Record<string, SimImageSpec>>;
  readonly steps: readonly ScenarioStep[];
}

const scenarioShape = fields(
  {
    name: described('What holds, in a few words.', text),
    about: described('What is at stake.', text),
    seed: described('Run with this seed alone: a failure that is kept, or a replay file.', seedNumber),
    regressions: described('Seeds that once failed; tried before all others.', listOf(seedNumber)),
    nodes: described('Machines: how many, or what kind. Default 1.', listOr(listOf(fields(nodeFields)), number)),
    controllers: described("Controllers that run, by upstream's names. Default: all.", listOf(text)),
    schedulerConfig: described('YAML text of a KubeSchedulerConfiguration or a Policy.', text),
    images: described(
      'What containers do, by image; * in its name stands for any characters. Others run for ever.',
      namesTo(fields(imageFields)),
    ),
    steps: described('What happens, one after the other; each is an object with one word of these.', stepList),
  },
  ['name', 'steps'],
);

const plainImages = namesTo(fields(plainImageFields));

/** JSON schemas of scenario files, and of files for `keelson up --simulate --images`. */
export function fileSchemas(): { readonly scenario: Schema; readonly images: Schema } {
  const $schema = 'https://json-schema.org/draft/2020-12/schema';
  return {
    scenario: { $schema, title: 'Scenario of keelson sim', ...scenarioShape.schema, $defs: { step: stepSchema() } },
    images: { $schema, title: 'Images of keelson up --simulate --images', ...plainImages.schema },
  };
}

/** Parses a scenario. Throws for an invalid one with line and field, because an unknown word would silently test nothing. */
export function parseScenario(source: string): Scenario {
  return parseShaped(source, scenarioShape) as Scenario;
}

/** Parses descriptions of images by name, as under `images` of a scenario but without ranges. Throws like `parseScenario`. */
export function parseImages(source: string): SimImage[] {
  const images = parseShaped(source, plainImages) as NonNullable<Scenario['images']>;
  return Object.entries(images).map(([name, spec]) => image(name, spec));
}

function parseShaped(source: string, shape: Shape): unknown {
  const { value, duplicates } = parseYaml(source);
  if (duplicates.length > 0) throw new Error(duplicates.join('\n'));
  try {
    shape(value, []);
    return value;
  } catch (error) {
    if (!(error instanceof ShapeError)) throw error;
    const { path, message } = error;
    throw new Error(`line ${yamlLine(source, path)}: ${[placeText(path), message].filter(Boolean).join(': ')}`, {
      cause: error,
    });
  }
}

/** The place of an error: `step 3, wait.pods.count`. */
function placeText(path: Path): string {
  const [top, index, ...rest] = path;
  return top === 'steps' && typeof index === 'number'
    ? [`step ${index + 1}`, rest.join('.')].filter(Boolean).join(', ')
    : path.join('.');
}

/**
 * The scenario with all random values drawn from this seed. Each step has a separate random stream, so removing a step does not
 * change the values of others.
 */
export function drawScenario(scenario: Scenario, seed: number): Scenario {
  const random = createSeededRandom(`${seed}/scenario`);
  const { images, nodes, steps } = scenario;
  return {
    ...scenario,
    ...(nodes !== undefined && { nodes: draw(nodes, random.fork('nodes')) as NonNullable<Scenario['nodes']> }),
    ...(images && { images: draw(images, random) as NonNullable<Scenario['images']> }),
    steps: steps.map((step, index) => draw(step, random.fork(`step-${index}`)) as ScenarioStep),
  };
}

/** Draws the random values within a value. */
function draw(value: unknown, random: Random): unknown {
  if (typeof value === 'string') return drawText(value, random);
  if (Array.isArray(value)) return value.map((item) => draw(item, random));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, draw(item, random)]));
}

function drawText(value: string, random: Random): unknown {
  const range = rangeOf(value);
  if (range === undefined) return value;
  const { low, high, unit } = range;
  const drawn = low + random.int(high - low + 1);
  return unit === '' ? drawn : `${drawn}${unit}`;
}
