/**
 * `/logs/?query=`: logs of the node's services from journald or their files, or one file, with upstream's parameters.
 * Upstream: NodeLogQuery (KEP-2258), pkg/kubelet/kubelet_server_journal.go.
 *
 * Differs: journald's output is read completely, at most 16 MiB, before it is sent.
 */
import { Field, type FieldErrors } from '../../api/field-error.ts';
import { inclusiveRangeText } from '../../api/names.ts';
import { formatTime, parseTime } from '../../api/time.ts';
import { errorMessage, aggregateText } from '../../base/errors.ts';
import { ServerError } from './text-response.ts';

const MAX_TAIL_LINES = 100_000;
const MAX_SERVICE_LENGTH = 256;
const MAX_SERVICES = 4;
const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

export interface NodeLogQuery {
  readonly services: readonly string[];
  readonly files: readonly string[];
  readonly options: NodeLogOptions;
}

export interface NodeLogOptions {
  readonly sinceMs?: number;
  readonly untilMs?: number;
  readonly tailLines?: number;
  readonly boot?: number;
  readonly pattern?: string;
}

/** Why a requested file cannot be read; undefined: it can. */
export type FileComplaint = (file: string) => Promise<string | undefined>;

/**
 * Parses the parameters; undefined when there is no query. @throws ServerError 400 for values that cannot be parsed,
 * 406 for invalid combinations
 */
export async function readNodeLogQuery(query: string, fileComplaint: FileComplaint): Promise<NodeLogQuery | undefined> {
  const errors: FieldErrors = [];
  const parsed = parseQuery(new URLSearchParams(query), errors);
  throwIfInvalid(400, errors);
  if (parsed.files.length + parsed.services.length + Object.keys(parsed.options).length === 0) return undefined;
  await validate(parsed, fileComplaint, errors);
  throwIfInvalid(406, errors);
  return parsed;
}

function throwIfInvalid(status: number, errors: FieldErrors): void {
  const texts = errors.map(({ field, text }) => `${field}: ${text}`);
  if (texts.length > 0) throw new ServerError(status, aggregateText(texts));
}

function parseQuery(parameters: URLSearchParams, errors: FieldErrors): NodeLogQuery {
  const field = (name: string): Field => Field.named(name, errors);
  const queries = parameters.getAll('query');
  // A name with a slash is a file; others are services.
  const files = queries.filter((query) => /[/\\]/.test(query));
  const services = queries.filter((query) => !files.includes(query) && query.trim() !== '');
  if (queries.length > 0 && files.length + services.length === 0)
    field('query').invalid(queries, 'query cannot be empty');
  const time = (name: string): number | undefined => {
    const text = parameters.get(name) ?? '';
    if (text === '') return undefined;
    const ms = RFC3339.test(text) ? parseTime(text) : Number.NaN;
    if (Number.isFinite(ms)) return ms;
    field(name).invalid(text, 'invalid time format');
    return undefined;
  };
  const integer = (name: string): number | undefined => {
    const text = parameters.get(name) ?? '';
    if (text === '') return undefined;
    if (/^[+-]?\d{1,15}$/.test(text)) return Number(text);
    field(name).invalid(text, `strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`);
    return undefined;
  };
  const options = {
    sinceMs: time('sinceTime'),
    untilMs: time('untilTime'),
    boot: integer('boot'),
    tailLines: integer('tailLines'),
    pattern: parameters.get('pattern') || undefined,
  };
  const set = Object.entries(options).filter(([, value]) => value !== undefined);
  return { services, files, options: Object.fromEntries(set) };
}

async function validate(
  { services, files, options }: NodeLogQuery,
  fileComplaint: FileComplaint,
  errors: FieldErrors,
): Promise<void> {
  const field = (name: string): Field => Field.named(name, errors);
  const query = field('query');
  for (const service of services) {
    if (service.length > MAX_SERVICE_LENGTH) query.invalid(service, 'length must be less than 100');
    else if (!/^[a-zA-Z\-_0-9@]+$/.test(service)) query.invalid(service, 'input contains unsupported characters');
  }
  if (services.length > MAX_SERVICES) query.tooMany(services.length, MAX_SERVICES);
  if (services.length + files.length === 0) query.required('cannot be empty with options');
  else if (services.length > 0 && files.length > 0)
    query.invalid(`[${files.join(' ')}], [${services.join(' ')}]`, 'cannot specify a file and service');
  else if (files.length > 1) query.invalid(files, 'cannot specify more than one file');
  else if (files.length === 1 && Object.keys(options).length > 0)
    query.invalid(files, 'cannot specify file with options');
  else if (files.length === 1) {
    const complaint = await fileComplaint(files[0]!);
    if (complaint !== undefined) query.invalid(files, complaint);
  }
  const { sinceMs, untilMs, boot, tailLines, pattern } = options;
  if (sinceMs !== undefined && untilMs !== undefined && sinceMs > untilMs)
    field('untilTime').invalid(formatTime(untilMs), 'must be after `sinceTime`');
  if (boot !== undefined && boot > 0) field('boot').invalid(boot, 'must be less than 1');
  if (tailLines !== undefined && (tailLines < 0 || tailLines > MAX_TAIL_LINES))
    field('tailLines').invalid(tailLines, inclusiveRangeText(0, MAX_TAIL_LINES));
  if (pattern !== undefined) await validatePattern(pattern, field('pattern'));
}

async function validatePattern(pattern: string, field: Field): Promise<void> {
  const { compileRe2 } = await import('../../api/re2-pattern.ts');
  try {
    compileRe2(pattern);
  } catch (error) {
    field.invalid(pattern, errorMessage(error));
  }
}
