// Words and marks of a .loop file. No embedded actions: where a newline ends a statement is decided by the statement filter
// (compiler/syntax/statements.h), which turns NEWLINE and SEMICOLON tokens into SEP or drops them.
lexer grammar LoopLexer;

tokens { SEP }

// Contextual: each of these is also a name where the parser's grammar says so.
USE     : 'use' ;
WHEN    : 'when' ;
ON      : 'on' ;
EVERY   : 'every' ;
PER     : 'per' ;
EXTENDS : 'extends' ;
IN      : 'in' ;

// Reserved.
IF   : 'if' ;
THEN : 'then' ;
ELSE : 'else' ;
AND  : 'and' ;
OR   : 'or' ;
NOT  : 'not' ;

LBRACE    : '{' ;
RBRACE    : '}' ;
LPAREN    : '(' ;
RPAREN    : ')' ;
LBRACKET  : '[' ;
RBRACKET  : ']' ;
COMMA     : ',' ;
COLON     : ':' ;
SEMICOLON : ';' ;
DOT       : '.' ;

ASSIGN        : '=' ;
LEFT_ARROW    : '<-' ;
RIGHT_ARROW   : '->' ;
PLUS          : '+' ;
MINUS         : '-' ;
STAR          : '*' ;
SLASH         : '/' ;
CARET         : '^' ;
LESS          : '<' ;
LESS_EQUAL    : '<=' ;
GREATER       : '>' ;
GREATER_EQUAL : '>=' ;
EQUAL         : '==' ;
NOT_EQUAL     : '!=' ;

PERCENT : DECIMAL '%' ;
NUMBER  : DECIMAL ;
NAME    : [A-Za-z_] [A-Za-z0-9_]* ;
STRING  : '"' ( '\\' ~[\r\n] | ~["\\\r\n] )* '"' ;

COMMENT : '#' ~[\r\n]* ;
NEWLINE : '\r'? '\n' | '\r' ;
BLANK   : [ \t\f]+ -> skip ;

// Mistakes get tokens of their own, so that they can be named.
UNCLOSED_STRING : '"' ( '\\' ~[\r\n] | ~["\\\r\n] )* '\\'? ;
SINGLE_QUOTED   : '\'' ~['\r\n]* '\'' ;
BAD_NUMBER      : DIGIT [0-9_]* ( '.' [0-9_]+ )? ( [eE] [+-]? [0-9_]+ )? '%'? ;
BAD_CHARACTER   : . ;

fragment DECIMAL : DIGITS ( '.' DIGITS )? ( [eE] [+-]? DIGITS )? ;
fragment DIGITS  : DIGIT ( '_'? DIGIT )* ;
fragment DIGIT   : [0-9] ;
