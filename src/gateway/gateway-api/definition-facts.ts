/** The type of the facts about a kind of the Gateway API in `gen/`. */
export interface DefinitionFacts {
  readonly names: {
    readonly plural: string;
    readonly singular: string;
    readonly kind: string;
    readonly listKind: string;
    readonly shortNames?: readonly string[];
    readonly categories?: readonly string[];
  };
  readonly scope: string;
  /** All versions have the same schema. */
  readonly versions: readonly {
    readonly name: string;
    readonly served: boolean;
    readonly storage: boolean;
    readonly additionalPrinterColumns?: readonly object[];
    readonly subresources?: object;
  }[];
  readonly schema: object;
}
