/**
 * Scenarios: a cluster, steps, faults and expectations as a YAML file, to be run from a seed (`scenario-run.ts`). Wherever a span or
 * a number may stand, `1s..20s` or `1..30` stands for one drawn from the seed, so that many seeds try many orders.
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

/** A scenario as its file says. */
export interface Scenario {
  readonly name: string;
  /** What upstream promises that is at stake here. */
  readonly about?: string;
  /** Run with this seed alone: a failure kept as a regression, or a replay file. */
  readonly seed?: number;
  /** Seeds that once failed; tried before all others. */
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
    images: described('What containers do, by image. Others run for ever.', namesTo(fields(imageFields))),
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

/** Reads a scenario. Throws on one that is not understood, naming line and field: an unknown word would silently test nothing. */
export function parseScenario(source: string): Scenario {
  return parseShaped(source, scenarioShape) as Scenario;
}

/** Reads descriptions of images by their names, as scenarios have them under `images` but without ranges. Throws as `parseScenario` does. */
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

/** `step 3, wait.pods.count`. */
function placeText(path: Path): string {
  const [top, index, ...rest] = path;
  return top === 'steps' && typeof index === 'number'
    ? [`step ${index + 1}`, rest.join('.')].filter(Boolean).join(', ')
    : path.join('.');
}

/**
 * The scenario with everything drawn that is to be drawn from this seed. Each step draws from a stream of its own: leaving
 * one out changes nothing for the others that are drawn already.
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

/** Draws what is to be drawn in a value, however deep. */
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
