#if canImport(SwiftUI)
import Errand
import Foundation
import SwiftUI

struct FriendsView: View {
    @State private var model: FriendsModel

    init(client: APIClient) {
        _model = State(initialValue: FriendsModel(client: client))
    }

    var body: some View {
        List(model.friends) { Text($0.name) }
            .overlay {
                if let message = model.message { Text(message) }
            }
            .task { await model.load() }
            .refreshable { await model.load() }
    }
}
#endif

#if canImport(UIKit)
import UIKit

/// Time in the background, until it is given back or the system takes it.
@MainActor final class BackgroundTime {
    private var id = UIBackgroundTaskIdentifier.invalid

    init(_ name: String) {
        id = UIApplication.shared.beginBackgroundTask(withName: name) { [weak self] in self?.end() }
    }

    func end() {
        guard id != .invalid else { return }
        UIApplication.shared.endBackgroundTask(id)
        id = .invalid
    }
}

private func kept(_ persistence: some TokenPersistence) -> some TokenPersistence {
    persistence.keepingProcessAlive {
        let time = await BackgroundTime("token")
        return { await time.end() }
    }
}
#endif

#if canImport(AuthenticationServices)
import AuthenticationServices

private func signedIn(_ oauth: OAuth) async throws -> Token {
    let browser = AppBrowser(redirectURI: "com.example.app:/signed-in")
    let token = try await oauth.signIn(scopes: ["read"], using: browser)
    return token
}

private func associated() {
    let browser = AppBrowser(redirectURI: "https://example.com/signed-in")
    _ = browser
}
#endif

#if canImport(Darwin)
private func sharedSession() -> TokenStore {
    let login = APIClient("https://login.example.com")
    let folder = "/path/of/the/group/container"
    let keychain = KeychainTokenPersistence(
        service: "com.example.app", accessGroup: "TEAMID.com.example.shared", accessibility: .afterFirstUnlock,
        sharedLock: "\(folder)/session")
    let tokens = TokenStore(persistence: keychain) { old in
        try await login.run(.refresh(old)).token
    }
    return tokens
}

private func sparingClient() -> APIClient {
    var options = URLSessionTransport.Options()
    options.network.allowsConstrained = false
    let client = APIClient("https://api.example.com") {
        $0.transport = URLSessionTransport(options)
        $0.offline = .wait(upTo: .seconds(30))
    }
    return client
}

private func configuredClient() -> APIClient {
    var options = URLSessionTransport.Options()
    options.configure = { $0.networkServiceType = .responsiveData }
    let client = APIClient("https://api.example.com") { $0.transport = URLSessionTransport(options) }
    return client
}
#endif
