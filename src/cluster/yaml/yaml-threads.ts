/** YAML read and written by threads, with a deadline and a bounded heap. */
import type { ParsedJson } from '../../api/codec/json-parser.ts';
import { parseJson, stringifyJson } from '../../api/codec/json.ts';
import { yamlOnLoop, type YamlCodec } from '../../api/codec/yaml-codec.ts';
import { requestEntityTooLarge, tooManyRequests } from '../../api/status-error.ts';
import { ThreadLimitError, type ThreadPool, type ThreadTask, type Threads } from '../../platform/threads.ts';
import { MAX_JSON_LENGTH } from './max-json-length.ts';

/** 3 MiB of ordinary YAML take some three seconds and 300 MB on a slow machine. */
const PARSE = { name: 'parse', deadlineMs: 10_000 };
/** A list of ten thousand pods takes some twenty seconds. */
const STRINGIFY = { name: 'stringify', deadlineMs: 50_000 };
const LIMITS = { heapMb: 512, smallLength: 256 * 1024, idleMs: 30_000 };

/** The codec of this process. */
export function createYamlCodec(threads: Threads): YamlCodec {
  const pool = threads.pool(new URL('./yaml-worker.ts', import.meta.url), LIMITS);
  if (pool === undefined) return yamlOnLoop;
  return {
    async parse(text) {
      const json = await run(pool, PARSE, text);
      if (json.length > MAX_JSON_LENGTH) throw requestEntityTooLarge('the YAML document is too large as JSON');
      return parseJson(json).value as ParsedJson;
    },
    stringify: (value) => run(pool, STRINGIFY, stringifyJson(value)),
    fromJson: (json) => run(pool, STRINGIFY, json),
  };
}

async function run(pool: ThreadPool, task: ThreadTask, text: string): Promise<string> {
  try {
    return await pool.run(task, text);
  } catch (error) {
    if (!(error instanceof ThreadLimitError)) throw error;
    if (error.limit === 'queue') throw tooManyRequests('too many YAML documents wait to be converted', 1);
    throw requestEntityTooLarge('the YAML document takes too long or too much memory to convert');
  }
}
