public import Errand
import Foundation

extension Movies {
    /// Returns the app's message for a failure, one for each kind.
    public static func words(for error: ServiceError) -> String {
        switch error {
        case .rejected(let rejection) where rejection.status == 401: "The API key is not valid"
        case .rejected(let rejection) where rejection.status == 400: "The catalog did not understand the question"
        case .rejected(let rejection) where rejection.status == 410: "The catalog has moved; update the app"
        case .decodingFailed(let failure) where failure.snippet.isEmpty: "The catalog answered nothing"
        case .decodingFailed: "The catalog answered something that this app cannot read"
        case .rejected, .serverFailure: "The catalog could not answer; try again later"
        default: error.localizedDescription
        }
    }
}
