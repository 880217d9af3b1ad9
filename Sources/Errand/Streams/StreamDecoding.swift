#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Decodes the parts of a streamed response like whole responses of its client.
struct StreamDecoding: Sendable {
    let interpreter: ResponseInterpreter
    /// The decoder of the endpoint; `nil` if it has none of its own.
    let decoder: (any ResponseDecoder)?
    let status: Int
    let redactor: @Sendable () -> Redactor

    /// Decodes a part. An error names the part, with words that the redactor makes safe to show.
    func value<Value: Decodable>(
        _ type: Value.Type, in data: Data, of part: (Redactor) -> String
    ) throws(ServiceError) -> Value {
        do throws(ServiceError) {
            // The content type is that of the whole body, so the part has none.
            let response = HTTPResponse(status: status, body: .bytes(data))
            return try interpreter.decoded(type, below: [], in: response, by: decoder, redactor: redactor)
        } catch .decodingFailed(var failure) {
            let part = part(redactor())
            failure.advice.value = failure.advice.value.map { "\($0) (in \(part))" } ?? "in \(part)"
            throw .decodingFailed(failure)
        }
    }
}
