import { type TSchema, Type } from 'typebox';

/** A schema that also admits null: the contract says null where nothing is known, and omits nothing. */
export const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
