import ErrandJSON
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension Endpoint {
    /// Creates a call of a GraphQL API.
    ///
    ///     let query = "query($id: ID!) { user(id: $id) { id name } }"
    ///     let user: User = try await client.run(.graphQL(query, variables: ["id": id]).unwrapping("user"))
    ///
    /// The value is what is at `data` in the response, or below it with ``unwrapping(_:)``. A response with errors
    /// makes the call fail with `.rejected`, also if its status is 200: ``Rejection/message`` is the message of the
    /// first, ``Rejection/code`` its code, and ``Rejection/fieldErrors`` has the messages by their paths, such as
    /// `user.friends[0].name`. To receive the data beside the errors, ask for a ``GraphQLReply``.
    ///
    /// It is a `POST`, so it is not sent again if the server may have received it. A stream of such a call is the
    /// response as it comes, with its errors.
    ///
    /// - Parameters:
    ///   - query: The document, with one operation or several.
    ///   - variables: The variables, in which a `nil` is left out. The client's encoder encodes them.
    ///   - operation: The name of the operation, if there are several.
    ///   - path: The path of the API below the base URL.
    public static func graphQL(
        _ query: String, variables: JSONObject = [:], operation: String? = nil, path: EndpointPath = "graphql"
    ) -> Self {
        graphQL(query, encoding: variables, operation, at: path)
    }

    /// Creates a call of a GraphQL API with the members of a value as variables.
    @_disfavoredOverload
    public static func graphQL(
        _ query: String, variables: some Encodable & Sendable, operation: String? = nil,
        path: EndpointPath = "graphql"
    ) -> Self {
        graphQL(query, encoding: variables, operation, at: path)
    }

    private static func graphQL(
        _ query: String, encoding variables: some Encodable & Sendable, _ operation: String?, at path: EndpointPath
    ) -> Self {
        let body = RequestBody("a GraphQL request", as: "application/json") { encoder in
            let encoded = try encoder.encode(variables)
            guard encoded.first == UInt8(ascii: "{") else {
                throw ServiceError.invalidRequest(
                    InvalidRequest(.body, "the variables of GraphQL are an object; these are not encoded as one"))
            }
            // Not by the encoder, which may change the names of members.
            var json = Array(#"{"query":"#.utf8)
            json.append(asJSONText: query.utf8)
            if let operation {
                json += #","operationName":"#.utf8
                json.append(asJSONText: operation.utf8)
            }
            json += #","variables":"#.utf8
            return Data(json) + encoded + Data("}".utf8)
        }
        let endpoint = Endpoint(
            .post, path, headers: ["Accept": "application/graphql-response+json, application/json;q=0.9"], body: body)
        return endpoint.with { endpoint in
            endpoint.untyped.hasGraphQLErrors = !(Response.self is any PartialGraphQLReply.Type)
            if endpoint.untyped.hasGraphQLErrors { endpoint.untyped.envelope = ["data"] }
        }
    }
}

/// The response of a GraphQL API with its errors, and with what it could find in spite of them.
///
///     let reply = try await client.run(Endpoint<GraphQLReply<Viewer>>.graphQL("{ name friends }"))
///     if !reply.errors.isEmpty { print("some is missing: \(reply.errors)") }
///
/// A member that could not be found is `null`, so the type of the data has optional members.
public struct GraphQLReply<Value: Decodable & Sendable>: Decodable, Sendable {
    /// The data; `nil` if there is none.
    public let data: Value?
    /// The errors.
    public let errors: [GraphQLError]

    private enum CodingKeys: String, CodingKey {
        case data, errors
    }

    /// Decodes the members of a response.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        data = try container.decodeIfPresent(Value.self, forKey: .data)
        errors = try container.decodeIfPresent([GraphQLError].self, forKey: .errors) ?? []
        if data == nil, errors.isEmpty { throw container.neitherDataNorErrors }
    }
}

/// An error in the response of a GraphQL API.
public struct GraphQLError: Sendable, Hashable {
    /// The server's message for developers.
    public let message: String
    /// Where in the data the value is missing, such as `user.friends[0].name`; empty if the server does not say.
    public let path: String
    /// What the server adds, such as a code; `nil` if there is nothing.
    public let extensions: JSONValue?
}

extension GraphQLError: Decodable {
    private enum CodingKeys: String, CodingKey {
        case message, path, extensions
    }

    /// Decodes an error.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        message = try container.decode(String.self, forKey: .message)
        let steps = try container.decodeIfPresent([JSONValue].self, forKey: .path) ?? []
        path = steps.reduce(into: "") { path, step in
            path.append(step: step.string, at: step.integer)
        }
        extensions = try container.decodeIfPresent(JSONValue.self, forKey: .extensions)
    }
}

extension String {
    /// Adds a member or an index to a path.
    mutating func append(step name: String?, at index: Int?) {
        if let name { self += isEmpty ? name : ".\(name)" } else if let index { self += "[\(index)]" }
    }
}

private protocol PartialGraphQLReply {}

extension GraphQLReply: PartialGraphQLReply {}
extension Optional: PartialGraphQLReply where Wrapped: PartialGraphQLReply {}

/// What any response of a GraphQL API is, to be told from other pages where nobody asks for its data.
struct GraphQLFrame: Decodable {
    private enum CodingKeys: String, CodingKey {
        case data, errors
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        guard container.contains(.data) || container.contains(.errors) else { throw container.neitherDataNorErrors }
    }
}

extension KeyedDecodingContainer {
    fileprivate var neitherDataNorErrors: DecodingError {
        let context = DecodingError.Context(
            codingPath: codingPath, debugDescription: "neither data nor errors, as GraphQL has them")
        return .valueNotFound(GraphQLFrame.self, context)
    }
}
