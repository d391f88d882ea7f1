/**
 * Environments: the variables, types and functions that expressions may use. One base holds all libraries, and each use extends
 * it. Upstream: apiserver/pkg/cel/environment/base.go.
 */
import { defineAuthorizer } from './libraries/authorizer.ts';
import { defineConversions } from './libraries/conversions.ts';
import { defineFormats } from './libraries/formats.ts';
import { defineLists } from './libraries/lists.ts';
import { defineMaps } from './libraries/maps.ts';
import { defineNetwork } from './libraries/network.ts';
import { defineOperators } from './libraries/arithmetic.ts';
import { defineOptionals } from './libraries/optionals.ts';
import { defineQuantity } from './libraries/quantity.ts';
import { defineRegex } from './libraries/regex.ts';
import { defineSemver } from './libraries/semver.ts';
import { defineSets } from './libraries/sets.ts';
import { defineStrings } from './libraries/strings.ts';
import { defineTextTests } from './libraries/texts.ts';
import { defineTimeParts } from './libraries/time-parts.ts';
import { defineUrls } from './libraries/urls.ts';
import { Declarations, type FunctionDeclaration } from './types/declarations.ts';
import { LIST_TYPE, MAP_TYPE, OPTIONAL_TYPE, SIMPLE_TYPES, type Type } from './types/type.ts';

/** Creates a value of a type from its fields. Throws `FunctionError`. */
type Constructor = (typeName: string, fields: ReadonlyMap<string, unknown>) => unknown;

export interface CelEnvironment {
  readonly variables: ReadonlyMap<string, Type>;
  readonly functions: ReadonlyMap<string, FunctionDeclaration>;
  /** Types that expressions may refer to by name. */
  readonly types: { get(name: string): Type | undefined };
  readonly constructors: { get(name: string): Constructor | undefined };
  /** Whether `cel.bind` is declared. */
  readonly hasBindings: boolean;
}

const TYPES: ReadonlyMap<string, Type> = new Map(
  [...SIMPLE_TYPES, LIST_TYPE, MAP_TYPE, OPTIONAL_TYPE].map((type) => [type.name, type]),
);

const LIBRARIES: readonly ((declarations: Declarations) => void)[] = [
  defineOperators,
  defineTextTests,
  defineConversions,
  defineTimeParts,
  defineOptionals,
  defineStrings,
  defineLists,
  defineMaps,
  defineSets,
  defineRegex,
  defineQuantity,
  defineNetwork,
  defineUrls,
  defineSemver,
  defineFormats,
  defineAuthorizer,
];

let base: CelEnvironment | undefined;

function baseEnvironment(): CelEnvironment {
  if (base !== undefined) return base;
  const declarations = new Declarations();
  for (const define of LIBRARIES) define(declarations);
  const { functions } = declarations;
  base = { variables: new Map(), functions, types: TYPES, constructors: new Map(), hasBindings: false };
  return base;
}

/** An environment with these variables and all libraries. */
export function createEnvironment(variables: Readonly<Record<string, Type>>): CelEnvironment {
  return extendEnvironment(baseEnvironment(), variables);
}

/** A copy of an environment with more variables. */
export function extendEnvironment(from: CelEnvironment, variables: Readonly<Record<string, Type>>): CelEnvironment {
  return { ...from, variables: new Map([...from.variables, ...Object.entries(variables)]) };
}
