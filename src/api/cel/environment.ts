/**
 * Environments: which variables, types and functions expressions may use. One base holds all libraries; each user clones it
 * and declares variables. Upstream: apiserver/pkg/cel/environment/base.go.
 */
import { Environment } from '@marcbachmann/cel-js';
import { defineAuthorizer } from './libraries/authorizer.ts';
import { defineConversions } from './libraries/conversions.ts';
import { defineFormats } from './libraries/formats.ts';
import { defineLists } from './libraries/lists.ts';
import { defineNetwork } from './libraries/network.ts';
import { defineQuantity } from './libraries/quantity.ts';
import { defineRegex } from './libraries/regex.ts';
import { defineSemver } from './libraries/semver.ts';
import { defineSets } from './libraries/sets.ts';
import { defineStrings } from './libraries/strings.ts';
import { defineUrls } from './libraries/urls.ts';
import { defineMacros } from './macros.ts';
import { defineObjectLiterals } from './object-literals.ts';
import { celEquals } from './values.ts';

/** A variable's type as the evaluator spells it: `dyn`, `string`, `list<int>`, the name of a declared type. */
export type TypeName = string;

/** A type with fields. */
export interface DeclaredType {
  readonly name: TypeName;
  /** Field to type. */
  readonly fields: Readonly<Record<string, TypeName>>;
  /** Class of its values; fields are read as properties, and absent ones are undefined. */
  readonly ctor: new (...args: never[]) => object;
}

/** Where expressions are compiled. */
export interface CelEnvironment {
  readonly environment: Environment;
  /** All function names, as declared. */
  readonly functions: ReadonlySet<string>;
  /** Expressions may hold object literals. */
  readonly hasLiterals: boolean;
}

let base: CelEnvironment | undefined;

function baseEnvironment(): CelEnvironment {
  if (base !== undefined) return base;
  const environment = new Environment({
    unlistedVariablesAreDyn: false,
    homogeneousAggregateLiterals: false,
    enableOptionalTypes: true,
    limits: { maxAstNodes: 20_000, maxDepth: 250, maxListElements: 10_000, maxMapEntries: 10_000 },
  });
  const libraries = [
    defineStrings,
    defineLists,
    defineSets,
    defineRegex,
    defineQuantity,
    defineNetwork,
    defineUrls,
    defineSemver,
    defineFormats,
    defineConversions,
    defineAuthorizer,
    defineMacros,
  ];
  for (const library of libraries) library(environment);
  const functions = new Set(environment.getDefinitions().functions.map((declared) => declared.name));
  base = { environment, functions, hasLiterals: false };
  return base;
}

/** An environment with these variables (name to type) and types besides the libraries. */
export function createEnvironment(
  variables: Readonly<Record<string, TypeName>>,
  types: readonly DeclaredType[] = [],
): CelEnvironment {
  return extendEnvironment(baseEnvironment(), variables, types);
}

/** The same with more variables and types. */
export function extendEnvironment(
  from: CelEnvironment,
  variables: Readonly<Record<string, TypeName>>,
  types: readonly DeclaredType[] = [],
): CelEnvironment {
  const environment = from.environment.clone();
  const declared = new Set(types);
  for (const { name, ctor, fields } of declared) environment.registerType(name, { ctor, fields } as never);
  for (const { name } of declared) {
    environment.registerOperator(`${name} == ${name}`, celEquals as never);
    environment.registerOperator(`${name} == null`, (() => false) as never);
  }
  for (const [name, type] of Object.entries(variables)) environment.registerVariable(name, type as never);
  return { ...from, environment };
}

/** The same with object literals of apply configurations and JSON patches. */
export function withObjectLiterals(from: CelEnvironment): CelEnvironment {
  const environment = from.environment.clone();
  defineObjectLiterals(environment);
  return { ...from, environment, hasLiterals: true };
}
