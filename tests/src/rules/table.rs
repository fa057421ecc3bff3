//! The table of rules: what DynamoDB refuses without reading an item, its message, and the page that documents it.
//!
//! Every refusal has the code `ValidationException`. `%` stands for a variable part. The messages are those known from
//! the service; a line with `text assumed` has a documented limit without a known message. Inside a transaction the
//! service reports some of them as a `ValidationError` reason of a cancelled one; here all are plain errors.

/// DynamoDB's code for every refusal of the table.
pub const CODE: &str = "ValidationException";

/// The base URL of the pages in the table.
pub const PAGES: &str = "https://docs.aws.amazon.com/amazondynamodb/latest/";

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The rule.
    pub rule: Rule,
    /// Its name.
    pub name: &'static str,
    /// DynamoDB's message; `%` stands for a variable part.
    pub error: &'static str,
    /// The page that documents it, under [`PAGES`].
    pub source: &'static str,
}

/// A request that DynamoDB refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The rule that refuses it.
    pub rule: Rule,
    /// DynamoDB's message.
    pub message: String,
}

impl Rule {
    /// The refusal by this rule, with the variable parts of its message.
    ///
    /// # Panics
    /// When the message has another number of variable parts.
    #[must_use]
    pub fn refusal(self, varying: &[&str]) -> Refusal {
        let row = RULES.iter().find(|row| row.rule == self).expect("every rule has a row");
        let parts: Vec<&str> = row.error.split('%').collect();
        assert_eq!(parts.len(), varying.len() + 1, "{}", row.name);
        let mut message = String::new();
        for (at, part) in parts.into_iter().enumerate() {
            message.push_str(part);
            message.push_str(varying.get(at).unwrap_or(&""));
        }
        Refusal { rule: self, message }
    }
}

const LIMITS: &str = "developerguide/Constraints.html";
const NAMES: &str = "developerguide/Expressions.ExpressionAttributeNames.html";
const VALUES: &str = "developerguide/Expressions.ExpressionAttributeValues.html";
const CONDITIONS: &str = "developerguide/Expressions.OperatorsAndFunctions.html";
const PATHS: &str = "developerguide/Expressions.Attributes.html";
const UPDATES: &str = "developerguide/Expressions.UpdateExpressions.html";
const KEY_CONDITIONS: &str = "developerguide/Query.KeyConditionExpressions.html";
const FILTERS: &str = "developerguide/Query.FilterExpression.html";
const TYPES: &str = "developerguide/HowItWorks.NamingRulesDataTypes.html";
const INDEXES: &str = "developerguide/GSI.html";
const VALUE: &str = "APIReference/API_AttributeValue.html";
const QUERY: &str = "APIReference/API_Query.html";
const SCAN: &str = "APIReference/API_Scan.html";
const GET: &str = "APIReference/API_GetItem.html";
const PUT: &str = "APIReference/API_PutItem.html";
const UPDATE: &str = "APIReference/API_UpdateItem.html";
const BATCH_GET: &str = "APIReference/API_BatchGetItem.html";
const BATCH_WRITE: &str = "APIReference/API_BatchWriteItem.html";
const TRANSACT_GET: &str = "APIReference/API_TransactGetItems.html";
const TRANSACT_WRITE: &str = "APIReference/API_TransactWriteItems.html";

macro_rules! rules {
    ($($rule:ident: $error:expr, $source:expr;)+) => {
        /// A rule of the table.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[expect(missing_docs, reason = "the table describes what each refuses")]
        pub enum Rule {
            $($rule,)+
        }

        /// All rows of the table.
        pub const RULES: &[Row] =
            &[$(Row { rule: Rule::$rule, name: stringify!($rule), error: $error, source: $source },)+];
    };
}

rules! {
    // Members of a request.
    TableName: "1 validation error detected: Value '%' at 'tableName' failed to satisfy constraint: Member must %", LIMITS;
    LimitBelowOne: "1 validation error detected: Value at 'Limit' failed to satisfy constraint: Member must have value greater than or equal to 1", QUERY;
    SelectUnknown: "1 validation error detected: Value '%' at 'select' failed to satisfy constraint: Member must satisfy enum value set: [SPECIFIC_ATTRIBUTES, COUNT, ALL_ATTRIBUTES, ALL_PROJECTED_ATTRIBUTES]", QUERY;
    SelectWithProjection: "1 validation error detected: Cannot specify the ProjectionExpression when choosing to get %", QUERY;
    SelectWithoutProjection: "1 validation error detected: Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES", QUERY;
    SelectProjectedWithoutIndex: "1 validation error detected: ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName", QUERY;
    SegmentWithoutTotal: "The % parameter is required but was not present in the request when % parameter is present", SCAN;
    SegmentBeyondTotal: "The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: % is not less than TotalSegments: %", SCAN;
    LegacyParameter: "Can not use both expression and non-expression parameters in the same request: Non-expression parameters: {%} Expression parameters: {%}", QUERY;
    ReturnValuesOfPut: "ReturnValues can only be ALL_OLD or NONE", PUT;
    ReturnValuesOnFailure: "1 validation error detected: Value '%' at 'returnValuesOnConditionCheckFailure' failed to satisfy constraint: Member must satisfy enum value set: [ALL_OLD, NONE]", TRANSACT_WRITE;
    RequestToken: "1 validation error detected: Value '%' at 'clientRequestToken' failed to satisfy constraint: Member must have length % than or equal to %", TRANSACT_WRITE;

    // Placeholders.
    NamesEmpty: "ExpressionAttributeNames must not be empty", NAMES;
    ValuesEmpty: "ExpressionAttributeValues must not be empty", VALUES;
    NamesWithoutExpression: "ExpressionAttributeNames can only be specified when using expressions", NAMES;
    ValuesWithoutExpression: "ExpressionAttributeValues can only be specified when using expressions: % is null", VALUES;
    NameSyntax: "ExpressionAttributeNames contains invalid key: Syntax error; key: \"%\"", NAMES;
    ValueSyntax: "ExpressionAttributeValues contains invalid key: Syntax error; key: \"%\"", VALUES;
    // Text assumed.
    PlaceholderTooLong: "% contains invalid key: The expression attribute map contains a key that is too long; key: \"%\"", LIMITS;
    // Text assumed.
    SubstitutionsTooLarge: "Invalid %: The substitution variables exceed the maximum allowed size", LIMITS;
    NameUndefined: "Invalid %: An expression attribute name used in the document path is not defined; attribute name: %", NAMES;
    ValueUndefined: "Invalid %: An expression attribute value used in expression is not defined; attribute value: %", VALUES;
    NameUnused: "Value provided in ExpressionAttributeNames unused in expressions: keys: {%}", NAMES;
    ValueUnused: "Value provided in ExpressionAttributeValues unused in expressions: keys: {%}", VALUES;

    // Expressions of every kind.
    ExpressionEmpty: "Invalid %: The expression can not be empty;", CONDITIONS;
    ExpressionTooLong: "Invalid %: Expression size has exceeded the maximum allowed size; expression size: %", LIMITS;
    Syntax: "Invalid %: Syntax error; token: \"%\", near: \"%\"", CONDITIONS;
    ReservedWord: "Invalid %: Attribute name is a reserved keyword; reserved keyword: %", "developerguide/ReservedWords.html";
    RedundantParentheses: "Invalid %: The expression has redundant parentheses;", CONDITIONS;
    TooManyOperators: "Invalid %: The expression contains too many operators; operator count: %", LIMITS;
    PathTooDeep: "Invalid %: The document path has too many nesting levels; nesting levels: %", PATHS;
    FunctionUnknown: "Invalid %: Invalid function name; function: %", CONDITIONS;
    FunctionMisplaced: "Invalid %: The function is not allowed to be used this way in an expression; function: %", CONDITIONS;
    OperandCount: "Invalid %: Incorrect number of operands for operator or function; operator or function: %, number of operands: %", CONDITIONS;
    OperandType: "Invalid %: Incorrect operand type for operator or function; operator or function: %, operand type: %", CONDITIONS;
    OperandNotPath: "Invalid %: Operator or function requires a document path; operator or function: %", CONDITIONS;
    OperandsSame: "Invalid %: The first operand must be distinct from the remaining operands for this operator or function; operator: %, first operand: %", CONDITIONS;
    AttributeTypeUnknown: "Invalid %: Invalid attribute type name found; type: %, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}", CONDITIONS;
    InTooManyOperands: "Invalid %: The IN operator is provided with too many operands; number of operands: %", CONDITIONS;
    BetweenTypes: "Invalid %: The BETWEEN operator requires same data type for lower and upper bounds; lower bound operand: AttributeValue: {%}, upper bound operand: AttributeValue: {%}", CONDITIONS;
    BetweenInverted: "Invalid %: The BETWEEN operator requires upper bound to be greater than or equal to lower bound; lower bound operand: AttributeValue: {%}, upper bound operand: AttributeValue: {%}", CONDITIONS;

    // Key conditions.
    KeyConditionMissing: "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.", QUERY;
    KeyConditionOperator: "Invalid operator used in KeyConditionExpression: %", KEY_CONDITIONS;
    KeyConditionFunction: "Invalid operator used in KeyConditionExpression: %", KEY_CONDITIONS;
    KeyConditionNested: "Invalid KeyConditionExpression: KeyConditionExpressions cannot have conditions on nested attributes", KEY_CONDITIONS;
    KeyConditionOperands: "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition", KEY_CONDITIONS;
    KeyConditionTwice: "Invalid KeyConditionExpression: KeyConditionExpressions must only contain one condition per key", KEY_CONDITIONS;
    KeyConditionCount: "The number of query conditions (%) exceeds the number of key attributes defined in the schema (%)", KEY_CONDITIONS;
    KeyConditionPartition: "Query condition missed key schema element: %", KEY_CONDITIONS;
    KeyConditionEquality: "Query key condition not supported", KEY_CONDITIONS;
    KeyConditionForeign: "Query condition missed key schema element: %", KEY_CONDITIONS;
    KeyConditionType: "One or more parameter values were invalid: Condition parameter type does not match schema type", QUERY;
    KeyConditionEmpty: "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: %", LIMITS;
    KeyConditionTooLong: "One or more parameter values were invalid: %", LIMITS;

    // Reads.
    FilterOnKey: "Filter Expression can only contain non-primary key attributes: Primary key attribute: %", FILTERS;
    IndexUnknown: "The table does not have the specified index: %", QUERY;
    IndexConsistent: "Consistent reads are not supported on global secondary indexes", INDEXES;
    StartKeyInvalid: "The provided starting key is invalid", QUERY;
    StartKeyOutside: "The provided starting key is outside query boundaries based on provided conditions", QUERY;
    StartKeyUnmatched: "The provided starting key does not match the range key predicate", QUERY;
    ProjectionOverlap: "Invalid ProjectionExpression: Two document paths overlap with each other; must remove or rewrite one of these paths; path one: %, path two: %", "developerguide/Expressions.ProjectionExpressions.html";
    BatchEmpty: "1 validation error detected: Value at 'RequestItems' failed to satisfy constraint: Member must have length greater than or equal to 1", BATCH_GET;
    BatchGetTooMany: "1 validation error detected: Value at 'RequestItems.%.member.Keys' failed to satisfy constraint: Member must have length less than or equal to 100", BATCH_GET;
    BatchGetTwice: "Provided list of item keys contains duplicates", BATCH_GET;
    TransactGetTwice: "Transaction request cannot include multiple operations on one item", TRANSACT_GET;

    // Keys.
    KeyMismatch: "The provided key element does not match the schema", GET;
    KeyEmpty: "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty % value. Key: %", TYPES;
    PartitionKeyTooLong: "One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of2048 bytes", LIMITS;
    SortKeyTooLong: "One or more parameter values were invalid: Aggregated size of all range keys has exceeded the size limit of 1024 bytes", LIMITS;
    KeyMissing: "One or more parameter values were invalid: Missing the key % in the item", PUT;
    KeyType: "One or more parameter values were invalid: Type mismatch for key % expected: S actual: %", PUT;
    IndexKeyType: "One or more parameter values were invalid: Type mismatch for Index Key % Expected: S Actual: % IndexName: %", INDEXES;
    IndexKeyEmpty: "One or more parameter values are not valid. A value specified for a secondary index key is not supported. The AttributeValue for a key attribute cannot contain an empty string value. IndexName: %, IndexKey: %", INDEXES;
    IndexKeyTooLong: "One or more parameter values were invalid: %", LIMITS;

    // Values.
    ValueTypeCount: "Supplied AttributeValue %, must contain exactly one of the supported datatypes", VALUE;
    NumberMalformed: "The parameter cannot be converted to a numeric value: %", TYPES;
    NumberTooLong: "Attempting to store more than 38 significant digits in a Number", TYPES;
    NumberOverflow: "Number overflow. Attempting to store a number with magnitude larger than supported range", TYPES;
    NumberUnderflow: "Number underflow. Attempting to store a number with magnitude smaller than supported range", TYPES;
    NullFalse: "One or more parameter values were invalid: Null attribute value types must have the value of true", VALUE;
    SetEmpty: "One or more parameter values were invalid: An % set  may not be empty", TYPES;
    SetTwice: "One or more parameter values were invalid: Input collection [%] contains duplicates.", TYPES;
    ValueTooDeep: "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit", LIMITS;
    ItemTooLarge: "Item size has exceeded the maximum allowed size", LIMITS;

    // Updates.
    UpdateOfKey: "One or more parameter values were invalid: Cannot update attribute %. This attribute is part of the key", UPDATE;
    UpdateOfIndexKeyEmpty: "One or more parameter values are not valid. The update expression attempted to update a secondary index key to a value that is not supported. The AttributeValue for a key attribute cannot contain an empty string value.", INDEXES;
    UpdateOfIndexKeyType: "The update expression attempted to update the secondary index key to unsupported type", INDEXES;
    UpdateTooLarge: "Item size to update has exceeded the maximum allowed size", LIMITS;
    SectionTwice: "Invalid UpdateExpression: The \"%\" section can only be used once in an update expression;", UPDATES;
    PathsOverlap: "Invalid UpdateExpression: Two document paths overlap with each other; must remove or rewrite one of these paths; path one: %, path two: %", UPDATES;
    PathsConflict: "Invalid UpdateExpression: Two document paths conflict with each other; must remove or rewrite one of these paths; path one: %, path two: %", UPDATES;
    UpdateFunction: "Invalid UpdateExpression: The function is not allowed in an update expression; function: %", UPDATES;
    AddOperand: "Invalid UpdateExpression: Incorrect operand type for operator or function; operator: ADD, operand type: %, typeSet: ALLOWED_FOR_ADD_OPERAND", UPDATES;
    DeleteOperand: "Invalid UpdateExpression: Incorrect operand type for operator or function; operator: DELETE, operand type: %, typeSet: ALLOWED_FOR_DELETE_OPERAND", UPDATES;

    // Transactions and batches of writes.
    TransactionLength: "1 validation error detected: Value at 'transactItems' failed to satisfy constraint: Member must have length % than or equal to %", TRANSACT_WRITE;
    TransactionActions: "TransactItems can only contain one of Check, Put, Update or Delete", TRANSACT_WRITE;
    TransactionConditionMissing: "1 validation error detected: Value null at 'transactItems.%.member.conditionCheck.conditionExpression' failed to satisfy constraint: Member must not be null", "APIReference/API_ConditionCheck.html";
    TransactionItemTwice: "Transaction request cannot include multiple operations on one item", TRANSACT_WRITE;
    TransactionTooLarge: "Collection size of items exceeded, which can also be caused by the aggregate size of the items in the transaction exceeding the 4MB limit", TRANSACT_WRITE;
    BatchWriteTooMany: "1 validation error detected: Value at 'RequestItems' failed to satisfy constraint: Member must have length less than or equal to 25", BATCH_WRITE;
    BatchWriteTwice: "Provided list of item keys contains duplicates", BATCH_WRITE;
}
