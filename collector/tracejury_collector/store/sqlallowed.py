"""What a user's SQL may name: everything that is not listed here is refused."""


def _words(*lists: str) -> frozenset[str]:
    return frozenset(word for words in lists for word in words.split())


VIEWS = _words(
    """
    spans logs traces llm_calls tool_calls messages documents sessions scores scores_history
    decisions definitions labels unread_attributes alert_deliveries pass_rates runs
    audit
    """
)

TABLE_FUNCTIONS = _words("unnest range generate_series json_each")

TYPES = _words(
    """
    BOOLEAN TINYINT SMALLINT INTEGER BIGINT HUGEINT UTINYINT USMALLINT UINTEGER UBIGINT UHUGEINT
    FLOAT DOUBLE DECIMAL VARCHAR BLOB UUID DATE TIME TIMESTAMP TIMESTAMP_S TIMESTAMP_MS
    TIMESTAMP_NS INTERVAL LIST STRUCT MAP JSON NULL
    """
) | {"TIMESTAMP WITH TIME ZONE"}

_OPERATORS = """
+ - * / // % ** ^ || ~ & | << >> ^@ ~~ !~~ ~~* !~~* -> ->> @> <@ && @
like_escape not_like_escape ilike_escape not_ilike_escape
"""

_AGGREGATES = """
any_value approx_count_distinct approx_quantile approx_top_k arbitrary arg_max arg_max_null arg_min
arg_min_null argmax argmin array_agg avg bit_and bit_or bit_xor bool_and bool_or corr count count_if
count_star countif covar_pop covar_samp cume_dist dense_rank entropy favg fill first first_value
fsum geometric_mean geomean group_concat histogram json_group_array json_group_object kahan_sum
kurtosis kurtosis_pop lag last last_value lead list listagg mad max max_by mean median min min_by
mode nth_value ntile percent_rank product quantile quantile_cont quantile_disc rank rank_dense
regr_avgx
regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy
row_number sem skewness stddev stddev_pop stddev_samp string_agg sum sumkahan var_pop var_samp
variance wavg weighted_avg
"""

_NUMBERS = """
abs acos acosh add asin asinh atan atan2 atanh bit_count cbrt ceil ceiling cos cosh cot degrees
divide even exp fdiv floor fmod gamma gcd greatest isfinite isinf isnan lcm least lgamma ln log
log10 log2 mod multiply nextafter pi pow power radians round round_even roundbankers sign signbit
sin sinh sqrt subtract tan tanh trunc xor
"""

_TEXT = """
ascii bin bit_length char_length character_length chr concat concat_ws contains ends_with
format_bytes formatreadabledecimalsize formatreadablesize from_base64 from_hex hash hex ilike instr
jaccard lcase left left_grapheme len length length_grapheme lower ltrim md5 nfc_normalize
octet_length ord position prefix regexp_escape regexp_extract regexp_extract_all regexp_full_match
regexp_matches regexp_replace regexp_split_to_array replace reverse right right_grapheme rtrim sha1
sha256 split split_part starts_with str_split str_split_regex string_split string_split_regex
string_to_array strip_accents strlen strpos substr substring substring_grapheme suffix to_base
to_base64 to_binary to_hex translate trim ucase unhex unicode upper url_decode url_encode base64
encode decode parse_filename
"""

_TIMES = """
age ago century current_date current_localtime current_localtimestamp date_add date_diff date_part
date_sub date_trunc datediff datepart datesub datetrunc day dayname dayofmonth dayofweek dayofyear
days_in_month decade epoch epoch_ms epoch_ns epoch_us era get_current_time get_current_timestamp
hour isodow isoyear julian last_day make_date make_time make_timestamp make_timestamp_ms
make_timestamp_ns make_timestamptz microsecond millennium millisecond minute month monthname
nanosecond now quarter second strftime strptime time_bucket timezone to_centuries to_days to_decades
to_hours to_microseconds to_millennia to_milliseconds to_minutes to_months to_quarters to_seconds
to_timestamp to_weeks to_years today transaction_timestamp try_strptime week weekday weekofyear year
yearweek
"""

_NESTED = """
array_append array_apply array_cat array_concat array_contains array_distinct array_extract
array_filter array_has array_has_all array_has_any array_indexof array_intersect array_length
array_pop_back array_pop_front array_position array_prepend array_push_back array_push_front
array_reverse array_reverse_sort array_slice array_sort array_to_string
array_transform array_unique array_value array_where array_zip cardinality element_at filter flatten
list_any_value list_append list_apply list_avg list_bool_and list_bool_or list_cat list_concat
list_contains list_count list_distinct list_element list_entropy list_extract list_filter list_first
list_has list_has_all list_has_any list_histogram list_indexof list_intersect list_last list_max
list_median list_min list_mode list_pack list_position list_prepend list_product
list_reverse list_reverse_sort list_slice list_sort list_stddev_pop list_stddev_samp
list_string_agg list_sum list_transform list_unique list_value list_var_pop list_var_samp list_where
list_zip map map_contains map_contains_entry map_contains_value map_entries map_extract
map_extract_value map_keys map_values row struct_concat struct_contains
struct_extract struct_extract_at struct_insert struct_keys struct_pack struct_update struct_values
unnest unpivot_list
"""

_JSON = """
array_to_json json json_array json_array_length json_exists json_extract json_extract_path
json_extract_path_text json_extract_string json_keys json_object json_quote json_type json_valid
json_value row_to_json to_json
"""

_REST = """
alias coalesce constant_or_null error grouping grouping_id if ifnull nullif typeof uuid
"""

FUNCTIONS = _words(_OPERATORS, _AGGREGATES, _NUMBERS, _TEXT, _TIMES, _NESTED, _JSON, _REST)

REMEDIES = {
    "repeat": "it can ask for any amount of memory",
    "lpad": "use concat or left",
    "rpad": "use concat or left",
    "format": "use || or concat",
    "printf": "use || or concat",
    "levenshtein": "use jaccard",
    "~~~": "use LIKE or regexp_matches instead of GLOB",
    "list_reduce": "use list_sum, list_max or another aggregate of lists",
    "list_select": "use list_filter, or l[i]",
    "reservoir_quantile": "use approx_quantile",
    "range": "use it in FROM, or unnest a literal list",
    "generate_series": "use it in FROM, or unnest a literal list",
    "getenv": "the environment is not visible here",
    "current_setting": "settings are not visible here",
}
