// Reads tools/facts/cri-runtime-v1.txt; tools/facts/README.md describes the format.

import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { readSections, unreadable, type FactLine } from '../facts/sections.ts';
import type { CriFacts } from './facts.ts';

/** Reads the file. @throws Error naming an invalid line */
export function loadCriFacts(path: string): CriFacts {
  const facts: CriFacts = { package: '', services: {}, enums: {}, messages: {} };
  for (const { heading, entries } of readSections(readFileSync(path, 'utf8'), basename(path))) {
    const [section, name = ''] = heading.words;
    if (section === 'package') facts.package = name;
    else if (section === 'service') facts.services[name] = Object.fromEntries(entries.map(readMethod));
    else if (section === 'enum') facts.enums[name] = Object.fromEntries(entries.map(readValue));
    else if (section === 'message') facts.messages[name] = Object.fromEntries(entries.map(readField));
    else throw unreadable(heading, 'expected package, service, enum or message');
  }
  return facts;
}

function readMethod(line: FactLine): [string, [string, string]] {
  const [, name, request, answer] = /^(\S+) ((?:stream )?\S+) -> ((?:stream )?\S+)$/.exec(line.text) ?? [];
  if (name === undefined || request === undefined || answer === undefined) throw unreadable(line, 'expected a method');
  return [name, [request, answer]];
}

function readValue(line: FactLine): [string, number] {
  const [, name, number] = /^(\S+) (-?\d+)$/.exec(line.text) ?? [];
  if (name === undefined) throw unreadable(line, 'expected name and number of a value');
  return [name, Number(number)];
}

function readField(line: FactLine): [string, [number, string]] {
  const [, name, type, number] = /^(\S+) (\S+) (\d+)$/.exec(line.text) ?? [];
  if (name === undefined || type === undefined) throw unreadable(line, 'expected name, type and number of a field');
  return [name, [Number(number), type]];
}
