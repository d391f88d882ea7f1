/** YAML read and written by threads, with a deadline and a bounded heap. */
import type { ParsedJson } from '../../api/codec/json-parser.ts';
import { parseJson, stringifyJson } from '../../api/codec/json.ts';
import { yamlOnLoop, type YamlCodec } from '../../api/codec/yaml-codec.ts';
import { requestEntityTooLarge, tooManyRequests } from '../../api/status-error.ts';
import { ThreadLimitError, type ThreadPool, type ThreadTask, type Threads } from '../../platform/threads.ts';

/** 3 MiB of ordinary YAML take some three seconds and 300 MB on a slow machine. */
const parse = { name: 'parse', deadlineMs: 10_000 };
/** A list of ten thousand pods takes some twenty seconds. */
const stringify = { name: 'stringify', deadlineMs: 50_000 };
const limits = { heapMb: 512, smallLength: 256 * 1024, idleMs: 30_000 };

/** What a body may come to as JSON: references repeat what they refer to. Upstream bounds the repetition alike. */
const maxJsonLength = 6 * 1024 * 1024;

/** The codec of this process. */
export function createYamlCodec(threads: Threads): YamlCodec {
  const pool = threads.pool(new URL('./yaml-worker.ts', import.meta.url), limits);
  if (pool === undefined) return yamlOnLoop;
  return {
    async parse(text) {
      const json = await run(pool, parse, text);
      if (json.length > maxJsonLength) throw requestEntityTooLarge('the YAML document is too large as JSON');
      return parseJson(json).value as ParsedJson;
    },
    stringify: (value) => run(pool, stringify, stringifyJson(value)),
    fromJson: (json) => run(pool, stringify, json),
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
