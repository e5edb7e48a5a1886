/* tbl/revisions.h - the protocol revisions, oldest first: symbol, wire name, era.
 * Include with OWL_REVISION_ROW(symbol, name, era) defined. */
OWL_REVISION_ROW(2024_11_05, "2024-11-05", LEGACY)
OWL_REVISION_ROW(2025_03_26, "2025-03-26", LEGACY)
OWL_REVISION_ROW(2025_06_18, "2025-06-18", LEGACY)
OWL_REVISION_ROW(2025_11_25, "2025-11-25", LEGACY)
OWL_REVISION_ROW(2026_07_28, "2026-07-28", MODERN)
#undef OWL_REVISION_ROW
